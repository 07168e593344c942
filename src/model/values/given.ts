/** The same members, each optional and none of them undefined. */
type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/** The members that are not undefined: `{ name, ...given({ mesh }) }` has no member `mesh` where `mesh` is undefined. */
export function given<Members extends object>(members: Members): Given<Members> {
  const defined: Partial<Members> = {};
  for (const name in members) if (members[name] !== undefined) defined[name] = members[name];
  return defined as Given<Members>;
}
