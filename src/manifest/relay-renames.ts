import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { displayPath, type FieldPath, type FieldProblem, fieldError } from './problem.ts';

/** Fields that had another name once. */
const FIELDS: readonly { readonly path: FieldPath; readonly hint: string }[] = [
  { path: ['relay', 'secretFile'], hint: 'write relay.secrets: [{secretFile: FILE}]' },
  { path: ['http', 'tokenFile'], hint: 'write http.people: [{name: NAME, role: operate, tokenFile: FILE}]' },
];

/** Words that had another name once, with what they are called now. */
const MODES: ReadonlyMap<JsonValue, string> = new Map([
  ['server', 'write tls; or leave it out: mtls is the default, in which agents have certificates, too'],
  ['none', 'write insecure'],
]);

/**
 * What is spelled as it was in earlier versions, with the way it is written now; and the complaints of the schema that it
 * stands for are left out of `others`.
 */
export function withRenamed(document: JsonObject, others: readonly FieldProblem[]): readonly FieldProblem[] {
  const renamed = renamedIn(document);
  const places = new Set(renamed.map(({ path }) => displayPath(path)));
  return [...renamed, ...others.filter(({ path }) => !places.has(displayPath(path)))];
}

function renamedIn(document: JsonObject): readonly FieldProblem[] {
  const fields = FIELDS.filter(({ path }) => at(document, path) !== undefined).map(({ path, hint }) => ({
    ...fieldError('Renamed', path, `${displayPath(path)} has another name now`, hint),
    atKey: true,
  }));
  const path = ['relay', 'tls', 'mode'];
  const mode = at(document, path);
  const hint = mode === undefined ? undefined : MODES.get(mode);
  return hint === undefined
    ? fields
    : [...fields, fieldError('Renamed', path, `the mode ${String(mode)} has another name now`, hint)];
}

function at(value: JsonValue | undefined, [step, ...rest]: FieldPath): JsonValue | undefined {
  if (step === undefined) return value;
  return isJsonObject(value) ? at(value[step], rest) : undefined;
}
