// @alpacahq/alpaca-trade-api: one call is one page of the default size, so the script follows the token as a program would.
import { marketData } from "@alpacahq/alpaca-trade-api";
import print from "./print.mjs";

async function chainOf(base, symbol) {
  const api = new marketData.OptionApi(
    new marketData.Configuration({ keyId: "key", secret: "secret", basePath: base })
  );
  const contracts = [];
  let pageToken;
  do {
    const page = await api.optionChain({ underlyingSymbol: symbol, pageToken });
    for (const [osi, { greeks, impliedVolatility }] of Object.entries(page.snapshots)) {
      contracts.push({ osi, values: { ...greeks, svc_vol: impliedVolatility } });
    }
    pageToken = page.nextPageToken;
  } while (pageToken);
  return contracts;
}

await print(chainOf);
