import type { FieldProblem } from '../../../manifest/problem.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { type JsonValue, textOf } from '../../../model/text/json.ts';
import { violation } from './violations.ts';

const LONGEST = 253;

/** The name of a resource. */
export function checkName(name: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  if (textOf(name) === '') problems.push(violation('MissingField', at, 'cannot be empty'));
  else checkNameForm(textOf(name), at, problems);
}

/** The form of a name that is there. */
export function checkNameForm(name: string, at: FieldPath, problems: FieldProblem[]): void {
  if (isTooLong(name, at, problems)) return;
  if (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name)) return;
  const rule =
    "invalid characters. A lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  problems.push(violation('BadName', at, rule));
}

/** The name of a mesh; without one it is the mesh `default`. */
export function checkMesh(mesh: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  if (isTooLong(textOf(mesh), at, problems) || /^[0-9a-z_.-]*$/.test(textOf(mesh))) return;
  const rule = "invalid characters. Valid characters are numbers, lowercase latin letters and '-', '_', '.' symbols.";
  problems.push(violation('BadName', at, rule));
}

function isTooLong(name: string, at: FieldPath, problems: FieldProblem[]): boolean {
  if (Buffer.byteLength(name) <= LONGEST) return false;
  problems.push(violation('BadName', at, `value length must less or equal ${LONGEST}`));
  return true;
}
