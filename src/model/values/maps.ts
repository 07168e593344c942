/** The value of a key of a map; adds the value that `make` returns if the map has none. */
export function getOrInsert<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
