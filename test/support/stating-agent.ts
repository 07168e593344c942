import { expect } from 'vitest';
import type { OutputPosition } from '../../src/model/fleet/output.ts';
import { snapshotDigest } from '../../src/model/text/digest.ts';
import type { ClientTransport, StreamEnd } from '../../src/ports/transport.ts';
import { DEFAULT_LIMITS } from '../../src/relay/limits.ts';
import { packChunks } from '../../src/relay/transfer.ts';
import { decodeFrame, encodeFrame, type FrameInit, helloFrame } from '../../src/relay/wire/frames.ts';
import { holdingHead } from '../../src/relay/wire/output.ts';
import type { Identity } from './enrolled.ts';
import { clusterId, clusterName } from './relay-world.ts';

/** An agent that has said what it holds, and reads no more. */
export interface Hostile {
  /** How the server ended its stream. */
  readonly ended: Promise<StreamEnd>;
  leave(): void;
}

/** Connects as west, which holds nothing and states this admission and position. */
export async function connectStating(
  transport: ClientTransport,
  identity: Identity,
  admitted: OutputPosition,
  position: OutputPosition = { epoch: 0, sequence: 0 },
): Promise<Hostile> {
  const connection = transport.dial({ identity, roots: '' });
  const stream = connection.open('Pull', { 'fleetrelay-cluster': 'west' });
  const say = (frame: FrameInit): Promise<boolean> => stream.write(encodeFrame(frame));
  const who = { cluster: clusterName('west'), clusterId: clusterId('west-id'), instance: 'hostile-agent' };
  await say(helloFrame({ ...who, version: '1.0.0', capabilities: [] }, DEFAULT_LIMITS));
  const answer = await stream.read();
  if (answer === undefined) throw new Error(`not welcome: ${JSON.stringify(await stream.ended)}`);
  expect(decodeFrame(answer).case).toBe('welcome');
  const holding = { position, digest: snapshotDigest([]), revisions: [], entries: [] };
  await say({ case: 'begin', value: { transfer: 1n, subject: holdingHead({ ...holding, admitted }) } });
  for (const chunk of packChunks([])) await say({ case: 'chunk', value: { transfer: 1n, index: 0, ...chunk } });
  return { ended: stream.ended, leave: () => connection.close() };
}
