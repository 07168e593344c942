import { type FieldNames, ignoredFields } from '../../../model/objects/ignored-fields.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/text/json.ts';
import type { ApplyRequest } from '../../../ports/cluster-api.ts';
import { child, type FieldManager, type FieldSet, isOurs, itemName, itemNames } from './ownership.ts';
import type { Looking } from './write.ts';

/** The fields of an object that others own by agreement. */
export function ignoredOf(
  { live, settings }: Pick<Looking, 'live' | 'settings'>,
  request: ApplyRequest,
): readonly FieldNames[] {
  return ignoredFields(request, settings(), live.autoscaled.has(request.key));
}

/**
 * Fields that stay as they are if the object does not declare them: those that others own by agreement, also if an autoscaler of them
 * is still to come.
 */
export function leftToOthers(
  { live, settings }: Pick<Looking, 'live' | 'settings'>,
  request: ApplyRequest,
): readonly FieldNames[] {
  return ignoredFields(request, settings(), live.autoscaled.isClaimed(request.key));
}

/** The object without these fields. */
export function withoutFields(value: JsonObject, paths: readonly FieldNames[]): JsonObject {
  return paths.reduce<JsonObject>((rest, path) => edited(rest, path, () => undefined), value);
}

/**
 * The object as it is applied over a live one. An ignored field that another manager owns is left out. A field that only we
 * own would be removed if it were left out: it keeps its live value until another manager takes it, also if it is not declared any
 * more.
 */
export function handOver(
  value: JsonObject,
  live: JsonObject,
  managers: readonly FieldManager[],
  paths: readonly FieldNames[],
): JsonObject {
  const ours = managers.filter(isOurs).map(({ fields }) => fields);
  const others = managers.filter((manager) => !isOurs(manager)).map(({ fields }) => fields);
  return paths.reduce<JsonObject>(
    (rest, path) =>
      edited(rest, path, (place) => (owns(others, place) || !owns(ours, place) ? undefined : valueAt(live, place))),
    value,
  );
}

/** A field of one object: the names and list items that lead to it. */
type Place = readonly (string | { readonly item: JsonValue; readonly index: number })[];

function edited(value: JsonObject, path: FieldNames, replace: (place: Place) => JsonValue | undefined): JsonObject {
  const result = edit(value, path, []);
  return isJsonObject(result) ? result : value;

  function edit(at: JsonValue | undefined, names: FieldNames, place: Place): JsonValue | undefined {
    if (Array.isArray(at)) return at.map((item, index) => edit(item, names, [...place, { item, index }]) ?? null);
    const [name, ...rest] = names;
    if (name === undefined || !(at === undefined || isJsonObject(at))) return at;
    const { [name]: member, ...others } = at ?? {};
    const here = [...place, name];
    const next = rest.length === 0 ? replace(here) : edit(member, rest, here);
    if (next !== undefined) return { ...others, [name]: next };
    if (member === undefined) return at;
    // The map was not declared as empty: an empty map would be a field of its own.
    const isBare = Object.keys(others).length === 0 && typeof place.at(-1) === 'string';
    return isBare ? undefined : others;
  }
}

function owns(sets: readonly FieldSet[], place: Place): boolean {
  return sets.some((set) => {
    let at: FieldSet | undefined = set;
    for (const step of place) {
      if (at === undefined) return false;
      const name: string | undefined =
        typeof step === 'string' ? `f:${step}` : itemName(step.item, itemNames(at).values())?.text;
      at = name === undefined ? undefined : child(at, name);
    }
    return at !== undefined;
  });
}

function valueAt(live: JsonObject, place: Place): JsonValue | undefined {
  let at: JsonValue | undefined = live;
  for (const step of place) {
    if (typeof step === 'string') at = isJsonObject(at) ? at[step] : undefined;
    else at = Array.isArray(at) ? sameItem(at, step.item, step.index) : undefined;
  }
  return at;
}

function sameItem(items: readonly JsonValue[], item: JsonValue, index: number): JsonValue | undefined {
  const name = isJsonObject(item) ? item.name : undefined;
  if (name === undefined) return items[index];
  return items.find((other) => isJsonObject(other) && other.name === name);
}
