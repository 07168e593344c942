import type { FieldProblem } from '../../../manifest/problem.ts';
import { quote } from '../../../model/fleet/ids.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { type JsonObject, objectsOf, textOf } from '../../../model/text/json.ts';
import { enumNameOf, integerOf } from '../../../model/text/proto-json.ts';
import { itemsOf } from './inbounds.ts';
import { checkAddress, checkPort, violation } from './violations.ts';

const TYPES = { 1: 'ZoneIngress', 2: 'ZoneEgress' } as const;

/** The listeners of zone proxies; `at` is their list. */
export function checkListeners(networking: JsonObject, at: FieldPath, problems: FieldProblem[]): void {
  const inbounds = objectsOf(networking.inbound);
  const names = new Set(inbounds.map(({ name, port }) => textOf(name) || String(integerOf(port))));
  const ofInbounds = new Set(
    inbounds.map(({ address, port }) => `${textOf(address) || textOf(networking.address)}:${integerOf(port)}`),
  );
  const typeAt = new Map<string, string | undefined>();
  for (const [index, listener] of itemsOf(networking.listeners)) {
    const here = [...at, index];
    const type = enumNameOf(listener.type, TYPES);
    const name = textOf(listener.name);
    if (type === undefined) {
      const reason = listener.type === undefined ? 'MissingField' : 'WrongValue';
      problems.push(violation(reason, [...here, 'type'], 'type must be ZoneIngress or ZoneEgress'));
    }
    checkAddress(listener.address, [...here, 'address'], problems);
    checkPort(listener.port, [...here, 'port'], problems);
    if (name !== '' && names.has(name)) {
      const rule = `name ${quote(name)} must be unique across inbounds and listeners`;
      problems.push(violation('DuplicateName', [...here, 'name'], rule));
    }
    if (name !== '') names.add(name);
    const place = `${textOf(listener.address)}:${integerOf(listener.port)}`;
    const add = (rule: string): void => {
      problems.push(violation('AddressInUse', here, `address:port ${place} ${rule}`));
    };
    if (!typeAt.has(place)) typeAt.set(place, type);
    else if (typeAt.get(place) === type) add('is already used by another listener');
    else add('is used by listeners of different types');
    if (ofInbounds.has(place)) add('collides with an inbound listener');
  }
}
