// How a script says what its client showed: one contract a line, for check_node.py.

// Prints the contracts that `chainOf(base, symbol)` gives, each as {symbol, osi, values under native names}.
export default async function print(chainOf) {
  const [base, ...symbols] = process.argv.slice(2);
  for (const symbol of symbols) {
    for (const contract of await chainOf(base, symbol)) console.log(JSON.stringify({ symbol, ...contract }));
  }
}
