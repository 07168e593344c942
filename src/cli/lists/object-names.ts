import { isNameOf, parseObjectName } from '../../model/fleet/explain-query.ts';
import { isKindWord } from '../../model/objects/kinds.ts';
import type { ObjectRef } from '../../model/objects/object-key.ts';
import { type JsonValue, textOf } from '../../model/text/json.ts';

/** How a word names an object, for the help. */
export const OBJECT_NAMING = 'NAME, KIND, KIND/NAME or KIND/NAMESPACE/NAME';

/** Whether a word is the name, or the place and the name. */
export function isPlacedName(place: JsonValue | undefined, name: JsonValue | undefined, word: string): boolean {
  return textOf(name) === word || `${textOf(place)}/${textOf(name)}` === word;
}

/** Whether a word names an object (`Deployment.apps/web/frontend`): by its name, its kind, or both. */
export function isObjectNamed(object: string, word: string): boolean {
  const ref = shownRef(object);
  if (!word.includes('/')) return ref.name === word || isKindWord(word, ref);
  const wanted = parseObjectName(word);
  return wanted.ok && isNameOf(wanted.value, ref);
}

/** The parts of an object that a server has displayed. */
export function shownRef(object: string): ObjectRef {
  const [kindAndGroup = '', ...rest] = object.split('/');
  const dot = kindAndGroup.indexOf('.');
  const [namespace, name] = rest.length > 1 ? rest : ['', rest[0]];
  return {
    group: dot < 0 ? '' : kindAndGroup.slice(dot + 1),
    kind: dot < 0 ? kindAndGroup : kindAndGroup.slice(0, dot),
    namespace: namespace ?? '',
    name: name ?? '',
  };
}
