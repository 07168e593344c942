import type { AgentHello } from '../../model/agent.ts';
import { type FleetName, parseClusterId, parseClusterName, parseFleetName, quote } from '../../model/ids.ts';
import { ProtocolError } from './protocol-error.ts';
import { checked, readCount } from './scalars.ts';

/** The protocols that this program speaks, lowest and highest. */
export const PROTOCOL: { readonly min: number; readonly max: number } = { min: 1, max: 1 };

const INSTANCE = /^[A-Za-z0-9-]{8,64}$/;
const VERSION = /^[\x21-\x7e]{1,64}$/;
const CAPABILITY = /^[a-z0-9][a-z0-9.-]{0,63}$/;
const MAX_CAPABILITIES = 64;

interface HelloRecord {
  readonly protocolMin: number;
  readonly protocolMax: number;
  readonly version: string;
  readonly capabilities: readonly string[];
  readonly cluster: string;
  readonly clusterId: string;
  readonly instance: string;
  readonly fleet: string;
}

/** What the peer takes. */
export interface PeerLimits {
  /** Largest content of one object in bytes. */
  readonly objectBytes: number;
  /** Chunks that may be sent without being acknowledged. */
  readonly window: number;
}

/** The wire form of a hello frame. */
export function helloFrame(hello: AgentHello, limits: PeerLimits) {
  const { cluster, clusterId, instance, version, fleet = '' } = hello;
  const range = { protocolMin: PROTOCOL.min, protocolMax: PROTOCOL.max };
  const capabilities = [...hello.capabilities];
  const value = { ...range, version, capabilities, cluster, clusterId, instance, fleet, limits: limitsInit(limits) };
  return { case: 'hello' as const, value };
}

/** The wire form of limits. */
export function limitsInit({ objectBytes, window }: PeerLimits): { objectBytes: bigint; window: number } {
  return { objectBytes: BigInt(objectBytes), window };
}

/** Reads limits; a window of nothing, or of more than is sensible, is brought into bounds. */
export function readLimits(limits: { readonly objectBytes: bigint; readonly window: number } | undefined): PeerLimits {
  if (limits === undefined) throw new ProtocolError('BadHello', 'the limits are missing');
  const objectBytes = readCount(limits.objectBytes, 'the largest object');
  return { objectBytes, window: Math.min(Math.max(limits.window, 1), 64) };
}

/** Reads a hello; every part is checked, as the first thing that a stranger says. */
export function readHello(record: HelloRecord): AgentHello {
  if (!INSTANCE.test(record.instance)) {
    throw new ProtocolError('BadHello', `instance ${quote(record.instance)} must be 8 to 64 letters, digits or "-"`);
  }
  return {
    cluster: checked(parseClusterName(record.cluster), 'BadHello'),
    clusterId: checked(parseClusterId(record.clusterId), 'BadHello'),
    instance: record.instance,
    version: readVersion(record.version),
    capabilities: readCapabilities(record.capabilities),
    ...(record.fleet === '' ? {} : { fleet: readFleet(record.fleet) }),
  };
}

/** Reads the name of a fleet. */
export function readFleet(fleet: string): FleetName {
  return checked(parseFleetName(fleet), 'BadHello');
}

/** Reads a program's version: printable ASCII. */
export function readVersion(version: string): string {
  if (!VERSION.test(version)) throw new ProtocolError('BadHello', `version ${quote(version)} is not printable ASCII`);
  return version;
}

/** Reads capabilities: few and short. */
export function readCapabilities(capabilities: readonly string[]): readonly string[] {
  if (capabilities.length > MAX_CAPABILITIES) {
    throw new ProtocolError('BadHello', `${capabilities.length} capabilities, at most ${MAX_CAPABILITIES} are allowed`);
  }
  const bad = capabilities.find((capability) => !CAPABILITY.test(capability));
  if (bad !== undefined) throw new ProtocolError('BadHello', `capability ${quote(bad)} is not a lower-case word`);
  return capabilities;
}

/** The highest protocol that both speak. Throws a {@link ProtocolError} that says which end is too old. */
export function chooseProtocol(peer: { readonly protocolMin: number; readonly protocolMax: number }): number {
  const { protocolMin, protocolMax } = peer;
  const said = `the agent speaks protocol ${protocolMin} to ${protocolMax}, the server ${PROTOCOL.min} to ${PROTOCOL.max}`;
  if (protocolMin < 1 || protocolMin > protocolMax) throw new ProtocolError('BadHello', said);
  if (protocolMax < PROTOCOL.min) throw new ProtocolError('ProtocolTooOld', `${said}: upgrade the agent`, 'refused');
  if (protocolMin > PROTOCOL.max) throw new ProtocolError('ProtocolTooNew', `${said}: upgrade the server`, 'refused');
  return Math.min(protocolMax, PROTOCOL.max);
}
