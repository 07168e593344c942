import { type FieldProblem, fieldError } from '../../../manifest/problem.ts';
import type { FindingReason } from '../../../model/fleet/diagnostic.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { isAddress, parseStrictIp } from '../../../model/text/ip-address.ts';
import { type JsonValue, textOf } from '../../../model/text/json.ts';
import { integerOf } from '../../../model/text/proto-json.ts';
import { isPort } from '../model/dataplane.ts';

/*
 * The functions of this folder check the rules of Kuma, and add violations in the order in which Kuma lists them. Values are
 * read as Protocol Buffers have them: one that is missing, or of the wrong type, is the zero value.
 */

/** A violation as Kuma words it: the field, a colon, the rule. */
export function violation(reason: FindingReason, at: FieldPath, rule: string, field = fieldName(at)): FieldProblem {
  return fieldError(reason, at, `${field}: ${rule}`);
}

/** A field as Kuma writes it: keys of maps are in brackets. */
export function fieldName(at: FieldPath): string {
  let name = '';
  for (const [index, step] of at.entries()) {
    if (typeof step === 'number') name += `[${step}]`;
    else if (at[index - 1] === 'tags') name += `[${JSON.stringify(step)}]`;
    else name += name === '' ? step : `.${step}`;
  }
  return name;
}

/** A port of TCP or UDP. */
export function checkPort(port: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  const number = integerOf(port);
  if (!isPort(number)) {
    problems.push(violation('WrongValue', at, 'port must be in the range [1, 65535]'));
  }
}

/** An IP address, if there is one. */
export function checkIp(address: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  const text = textOf(address);
  if (text === '' || parseStrictIp(text) !== undefined) return;
  problems.push(violation('BadAddress', at, `${String(at.at(-1))} has to be valid IP address`));
}

/** An IP address or a host name, which must be there. */
export function checkAddress(address: JsonValue | undefined, at: FieldPath, problems: FieldProblem[]): void {
  const text = textOf(address);
  if (text === '') {
    problems.push(violation('MissingField', at, "address can't be empty"));
    return;
  }
  if (text === '0.0.0.0' || text === '::') problems.push(violation('BadAddress', at, 'must not be 0.0.0.0 or ::'));
  if (!isAddress(text)) {
    problems.push(violation('BadAddress', at, 'address has to be valid IP address or domain name'));
  }
}
