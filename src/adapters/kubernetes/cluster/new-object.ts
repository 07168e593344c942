import { kindOf, metadataOf, objectKey, objectRefOf } from '../../../model/objects/object-key.ts';
import { isKeyOfSecret } from '../../../model/objects/secret-values.ts';
import { type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../../model/text/json.ts';
import type { ApplyRequest } from '../../../ports/cluster-api.ts';
import type { ApiResource } from '../api/types.ts';
import { type Failure, failed, failureOf } from './refusals.ts';
import { applyRequestOf, asNew, type Looking } from './write.ts';

/** What is asked for, as in an apply. `body`: what is applied. */
interface Asking extends Pick<Looking, 'client'> {
  readonly request: ApplyRequest;
  readonly resource: ApiResource;
  readonly body: JsonObject;
}

/**
 * Asks the API server whether it accepts a new object with this content, by a dry run: defaults, validation, webhooks, policies and
 * quotas. The object has another name, since `live` has its own. Returns why it is refused, or why that cannot be known, as with a
 * webhook that takes no dry runs; undefined: it is accepted. Writes nothing.
 */
export async function refusedAsNew(
  { client, request, resource, body }: Asking,
  live: JsonObject,
): Promise<Failure | undefined> {
  const { key } = request;
  const free = kindOf(key) === '/Service' ? withoutHeld(body, live) : body;
  for (const name of otherNames(objectRefOf(key).name)) {
    const other = objectKey({ ...objectRefOf(key), name });
    const named = asNew({ ...free, metadata: { ...metadataOf(free), name } });
    const answer = await client.request(applyRequestOf(resource, other, named, { force: false, dryRun: true }));
    if (answer.type === 'ok') return undefined;
    // A 409 means that an object has that name. Its message may name another cause.
    if (answer.type === 'unreachable' || answer.status !== 409) return failureOf(answer, isKeyOfSecret(key));
  }
  return failed('NoOtherName', 'objects have all names that differ from its own in the last character only');
}

/** A Service without the ports and addresses that the live one holds, and gives back when it goes: one object can have them. */
function withoutHeld(body: JsonObject, live: JsonObject): JsonObject {
  const [{ clusterIP, clusterIPs, healthCheckNodePort, ...spec }, held] = [objectOf(body.spec), objectOf(live.spec)];
  const [addresses, nodePorts] = [textsOf(held.clusterIPs), objectsOf(held.ports).map((port) => port.nodePort)];
  const isHeld = (address: string) => address !== 'None' && addresses.includes(address);
  const ports = objectsOf(spec.ports).map(({ nodePort, ...port }) =>
    nodePort === undefined || nodePorts.includes(nodePort) ? port : { ...port, nodePort },
  );
  return {
    ...body,
    spec: {
      ...spec,
      ...(spec.ports === undefined ? {} : { ports }),
      ...(clusterIP === undefined || isHeld(textOf(clusterIP)) ? {} : { clusterIP }),
      ...(clusterIPs === undefined || textsOf(clusterIPs).every(isHeld) ? {} : { clusterIPs }),
      ...(healthCheckNodePort === undefined || healthCheckNodePort === held.healthCheckNodePort
        ? {}
        : { healthCheckNodePort }),
    },
  };
}

const DIGITS = '9876543210';
/** Hexadecimal digits come first, for names that are addresses. */
const LETTERS = 'fedcbazyxwvutsrqponmlkjihg';

/**
 * Names that differ in the last character: as long as this one, so that no limit of its kind is passed, and with the same beginning,
 * which policies may ask for.
 */
export function otherNames(name: string): readonly string[] {
  const characters = [...name];
  const last = characters.pop() ?? '';
  const ends = DIGITS.includes(last) ? DIGITS + LETTERS : LETTERS + DIGITS;
  return [...ends].filter((end) => end !== last).map((end) => characters.join('') + end);
}
