/**
 * The members of all tables, each with the name of its owner. Throws if two have one name: neither may replace the other without a
 * word.
 */
export function merged<Value>(
  what: string,
  tables: Iterable<readonly [owner: string, table: Readonly<Record<string, Value>> | undefined]>,
): Readonly<Record<string, Value>> {
  const all: Record<string, Value> = {};
  const owners = new Map<string, string>();
  for (const [owner, table = {}] of tables) {
    for (const [name, value] of Object.entries(table)) {
      const other = owners.get(name);
      if (other !== undefined) throw new Error(`${other} and ${owner} both have the ${what} ${name}`);
      owners.set(name, owner);
      all[name] = value;
    }
  }
  return all;
}
