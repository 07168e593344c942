import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../model/json.ts';
import { metadataOf } from '../../../model/object-key.ts';

/** It has been asked to go, by whomever. */
export function isBeingDeleted(live: JsonObject): boolean {
  return metadataOf(live).deletionTimestamp !== undefined;
}

/** What keeps an object that is being deleted, in words. */
export function whatHolds(live: JsonObject): string {
  const { spec, status } = live;
  const finalizers = [
    ...textsOf(metadataOf(live).finalizers),
    ...(live.kind === 'Namespace' ? textsOf(objectOf(spec).finalizers) : []),
  ];
  const held = finalizers.length === 0 ? 'it is given time to end' : `held by finalizers: ${finalizers.join(', ')}`;
  const said = live.kind === 'Namespace' ? objectsOf(objectOf(status).conditions) : [];
  // A Namespace that does not end says in its conditions what is still in it.
  const reasons = said.filter(({ status: is }) => is === 'True').map(({ message }) => textOf(message));
  return [held, ...reasons].join('; ');
}
