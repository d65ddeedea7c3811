// @massive.com/client-js: the client joins the pages itself.
import { restClient } from "@massive.com/client-js";
import print from "./print.mjs";

async function chainOf(base, symbol) {
  const client = restClient("key", base, { pagination: true });
  const answer = await client.getOptionsChain({ underlyingAsset: symbol, limit: 250 });
  return answer.results.map((contract) => ({
    osi: contract.details.ticker.replace("O:", ""),
    values: { ...contract.greeks, svc_vol: contract.implied_volatility, svc_theo: contract.fmv },
  }));
}

await print(chainOf);
