// intrinio-sdk for JavaScript: cannot send show_stats and reads the stats, cannot ask for adjusted roots.
import intrinio from "intrinio-sdk";
import print from "./print.mjs";

async function chainOf(base, symbol) {
  intrinio.ApiClient.instance.basePath = base;
  intrinio.ApiClient.instance.authentications["ApiKeyAuth"].apiKey = "key";
  const api = new intrinio.OptionsApi();
  const { chain } = await api.getOptionsChainRealtime(symbol, "*", { source: "delayed" });
  return chain.map(({ option, stats }) => ({
    osi: option.code,
    values: {
      delta: stats.delta,
      gamma: stats.gamma,
      theta: stats.theta,
      vega: stats.vega,
      svc_vol: stats.implied_volatility,
    },
  }));
}

await print(chainOf);
