import { create, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';
import {
  FrameSchema,
  type Hello,
  type Limits,
  type RegisterRequest,
  RegisterRequestSchema,
  RegisterResponseSchema,
  type Welcome,
} from '../../../generated/relay_pb.ts';
import { type AgentHello, type HoldingClaim, KUBERNETES_VERSION } from '../../model/agent/agent.ts';
import {
  type AgentSettings,
  MOST_SETTINGS_BYTES,
  parseSettings,
  settingsText,
} from '../../model/agent/agent-settings.ts';
import {
  type ClusterId,
  type Digest,
  type FleetName,
  parseClusterId,
  parseClusterName,
  parseFleetName,
  quote,
} from '../../model/fleet/ids.ts';
import { isNamespaceName } from '../../model/objects/object-key.ts';
import { SMALL_OBJECT } from '../../model/objects/object-size.ts';
import { FRAME_BYTES } from '../limits.ts';
import { decodeMessage } from './measure.ts';
import { claimInit } from './output.ts';
import { checked, ProtocolError, readCount, readDigest } from './scalars.ts';

/** A frame as it is read: one of the cases, each with its value. */
export type Frame = Exclude<MessageShape<typeof FrameSchema>['frame'], { case: undefined }>;
/** A frame as it is written. */
export type FrameInit = Exclude<NonNullable<MessageInitShape<typeof FrameSchema>['frame']>, { case?: undefined }>;

/** The protocols that this program speaks, lowest and highest. */
export const PROTOCOL: { readonly min: number; readonly max: number } = { min: 1, max: 1 };

const INSTANCE = /^[A-Za-z0-9-]{8,64}$/;
const VERSION = /^[\x21-\x7e]{1,64}$/;
const CAPABILITY = /^[a-z0-9][a-z0-9.-]{0,63}$/;
const MAX_CAPABILITIES = 64;
/** Largest certificate request in bytes: an RSA key of 8192 bits fits five times. */
const MAX_REQUEST_BYTES = 8 * 1024;
/** Longest accepted text of certificates in characters: some dozens of certificates. */
const PEM_LENGTH = 128 * 1024;

/** The bytes of a frame. */
export function encodeFrame(frame: FrameInit): Uint8Array {
  return toBinary(FrameSchema, create(FrameSchema, { frame }));
}

/** Reads a frame; throws a {@link ProtocolError} on any other bytes. */
export function decodeFrame(bytes: Uint8Array): Frame {
  if (bytes.length > FRAME_BYTES) {
    throw new ProtocolError('FrameTooLarge', `a frame of ${bytes.length} bytes, at most ${FRAME_BYTES} are allowed`);
  }
  const { frame } = decodeMessage(FrameSchema, bytes, 'MalformedFrame', 'a message that is not a frame');
  if (frame.case === undefined) throw new ProtocolError('MalformedFrame', 'a frame without a known field');
  return frame;
}

/** What the peer accepts. */
export interface PeerLimits {
  /** Largest content of one object in bytes. */
  readonly objectBytes: number;
  /** Chunks that it may be sent without acknowledgement. */
  readonly window: number;
}

/** The wire form of limits. */
export function limitsInit({ objectBytes, window }: PeerLimits): { objectBytes: bigint; window: number } {
  return { objectBytes: BigInt(objectBytes), window };
}

/** Reads limits; a window out of bounds is brought into them. */
export function readLimits(limits: Limits | undefined): PeerLimits {
  if (limits === undefined) throw new ProtocolError('BadHello', 'the limits are missing');
  const objectBytes = readCount(limits.objectBytes, 'the largest object');
  if (objectBytes < SMALL_OBJECT.bytes) {
    const message = `the peer takes objects of ${objectBytes} bytes; it must take ${SMALL_OBJECT.bytes}`;
    throw new ProtocolError('BadHello', message);
  }
  return { objectBytes, window: Math.min(Math.max(limits.window, 1), 64) };
}

/** The wire form of a hello; with a claim on Pull. */
export function helloFrame(hello: AgentHello, limits: PeerLimits, claim?: HoldingClaim) {
  const { cluster, clusterId, instance, version, fleet = '', kubernetesVersion = '', ownNamespace = '' } = hello;
  const range = { protocolMin: PROTOCOL.min, protocolMax: PROTOCOL.max };
  const about = { version, kubernetesVersion, ownNamespace, capabilities: [...hello.capabilities], fleet };
  const holding = claim === undefined ? {} : { holding: claimInit(claim) };
  const value = { ...range, ...about, cluster, clusterId, instance, limits: limitsInit(limits), ...holding };
  return { case: 'hello' as const, value };
}

/** Reads and checks who says hello: the first frame of an unknown peer. Limits and the protocol range are read elsewhere. */
export function readHello(hello: Hello): AgentHello {
  if (!INSTANCE.test(hello.instance)) {
    throw new ProtocolError('BadHello', `instance ${quote(hello.instance)} must be 8 to 64 letters, digits or "-"`);
  }
  return {
    cluster: checked(parseClusterName(hello.cluster), 'BadHello'),
    clusterId: checked(parseClusterId(hello.clusterId), 'BadHello'),
    instance: hello.instance,
    version: readVersion(hello.version),
    capabilities: readCapabilities(hello.capabilities),
    ...(hello.fleet === '' ? {} : { fleet: readFleet(hello.fleet) }),
    ...(hello.kubernetesVersion === '' ? {} : { kubernetesVersion: readKubernetesVersion(hello.kubernetesVersion) }),
    ...(hello.ownNamespace === '' ? {} : { ownNamespace: readNamespace(hello.ownNamespace) }),
  };
}

/** The highest protocol that both ends speak. Throws a {@link ProtocolError} that names the end that is too old. */
export function chooseProtocol({ protocolMin, protocolMax }: Hello): number {
  const ranges = `the agent speaks protocol ${protocolMin} to ${protocolMax}, the server ${PROTOCOL.min} to ${PROTOCOL.max}`;
  if (protocolMin < 1 || protocolMin > protocolMax) throw new ProtocolError('BadHello', ranges);
  if (protocolMax < PROTOCOL.min) throw new ProtocolError('ProtocolTooOld', `${ranges}: upgrade the agent`, 'refused');
  if (protocolMin > PROTOCOL.max) throw new ProtocolError('ProtocolTooNew', `${ranges}: upgrade the server`, 'refused');
  return Math.min(protocolMax, PROTOCOL.max);
}

/** The server's answer to the hello of an agent. */
export interface ServerWelcome {
  readonly version: string;
  /** The fleet of the server. */
  readonly fleet: FleetName;
  readonly capabilities: readonly string[];
  readonly limits: PeerLimits;
  /** On Push: digest of the input at the server. */
  readonly inputDigest: Digest | undefined;
  /** On Pull: the server remembers the inventory in the hello. */
  readonly holdingKnown: boolean;
}

/** Reads a welcome. */
export function readWelcome(welcome: Welcome): ServerWelcome {
  const { protocol } = welcome;
  if (protocol < PROTOCOL.min || protocol > PROTOCOL.max) {
    throw new ProtocolError('WrongProtocol', `the server chose protocol ${protocol}, which was not offered`);
  }
  return {
    version: readVersion(welcome.version),
    fleet: readFleet(welcome.fleet),
    capabilities: readCapabilities(welcome.capabilities),
    limits: readLimits(welcome.limits),
    inputDigest: welcome.inputDigest.length === 0 ? undefined : readDigest(welcome.inputDigest),
    holdingKnown: welcome.holdingKnown,
  };
}

function readFleet(fleet: string): FleetName {
  return checked(parseFleetName(fleet), 'BadHello');
}

function readVersion(version: string): string {
  if (!VERSION.test(version)) throw new ProtocolError('BadHello', `version ${quote(version)} is not printable ASCII`);
  return version;
}

function readKubernetesVersion(version: string): string {
  if (KUBERNETES_VERSION.test(version)) return version;
  throw new ProtocolError('BadHello', `${quote(version)} is no version of Kubernetes`);
}

function readNamespace(name: string): string {
  if (isNamespaceName(name)) return name;
  throw new ProtocolError('BadHello', `${quote(name)} is no name of a Namespace`);
}

function readCapabilities(capabilities: readonly string[]): readonly string[] {
  if (capabilities.length > MAX_CAPABILITIES) {
    throw new ProtocolError('BadHello', `${capabilities.length} capabilities, at most ${MAX_CAPABILITIES} are allowed`);
  }
  const bad = capabilities.find((capability) => !CAPABILITY.test(capability));
  if (bad !== undefined) throw new ProtocolError('BadHello', `capability ${quote(bad)} is not a lower-case word`);
  return capabilities;
}

/** The frame of settings; undefined if agents refuse them: too large, or with an unknown member. */
export function settingsFrame(settings: AgentSettings): FrameInit | undefined {
  const content = settingsText(settings);
  return parseSettings(content).ok ? { case: 'settings', value: { content } } : undefined;
}

/** Reads settings. */
export function readSettings({ content }: { readonly content: string }): AgentSettings {
  const bytes = Buffer.byteLength(content);
  if (bytes > MOST_SETTINGS_BYTES) {
    const message = `settings of ${bytes} bytes, at most ${MOST_SETTINGS_BYTES} are allowed`;
    throw new ProtocolError('SettingsTooLarge', message);
  }
  return checked(parseSettings(content), 'MalformedSettings');
}

/** Encodes the agent's request for a certificate. */
export function registerRequestBytes(request: MessageInitShape<typeof RegisterRequestSchema>): Uint8Array {
  return toBinary(RegisterRequestSchema, create(RegisterRequestSchema, request));
}

/** Reads a request for a certificate; throws a {@link ProtocolError} on any other bytes. */
export function readRegisterRequest(
  bytes: Uint8Array,
): Pick<RegisterRequest, 'cluster' | 'version' | 'certificateRequest'> & { readonly clusterId: ClusterId } {
  if (bytes.length > 2 * MAX_REQUEST_BYTES) throw tooLarge(bytes.length);
  const request = decodeMessage(RegisterRequestSchema, bytes, 'MalformedRequest', 'a message that is no registration');
  const { cluster, certificateRequest } = request;
  if (certificateRequest.length > MAX_REQUEST_BYTES) throw tooLarge(certificateRequest.length);
  const clusterId = checked(parseClusterId(request.clusterId), 'MalformedRequest');
  return { cluster, clusterId, version: readVersion(request.version), certificateRequest };
}

function tooLarge(bytes: number): ProtocolError {
  const message = `a certificate request of ${bytes} bytes, at most ${MAX_REQUEST_BYTES} are allowed`;
  return new ProtocolError('RequestTooLarge', message);
}

/** Encodes the server's answer to a registration. PEM texts. */
export function registerResponseBytes(answer: { readonly certificate: string; readonly roots: string }): Uint8Array {
  return toBinary(RegisterResponseSchema, create(RegisterResponseSchema, answer));
}

/** Reads the answer to a registration: unverified PEM texts; empty roots: the server sent none. */
export function readRegisterResponse(bytes: Uint8Array): { readonly certificate: string; readonly roots: string } {
  const message = 'a message that is no answer to a registration';
  const { certificate, roots } = decodeMessage(RegisterResponseSchema, bytes, 'MalformedFrame', message);
  return { certificate: readPem(certificate, 'the certificate'), roots: readPem(roots, 'the roots') };
}

/** Reads a PEM text, which it does not verify. `what` names it in errors. */
export function readPem(text: string, what: string): string {
  if (text.length > PEM_LENGTH) throw new ProtocolError('TextTooLong', `${what}: ${text.length} characters`);
  return text;
}
