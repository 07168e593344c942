/** The members of all tables. Throws if two have one name: neither may replace the other without a word. */
export function merged<Value>(
  what: string,
  tables: readonly (Readonly<Record<string, Value>> | undefined)[],
): Readonly<Record<string, Value>> {
  const all: Record<string, Value> = {};
  for (const [name, value] of tables.flatMap((table) => Object.entries(table ?? {}))) {
    if (Object.hasOwn(all, name)) throw new Error(`two tables have the ${what} ${name}`);
    all[name] = value;
  }
  return all;
}
