import type { AgentHello } from '../model/agent.ts';
import type { AgentSettings } from '../model/agent-settings.ts';
import type { Digest, FleetName } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { MessageStream } from '../ports/transport.ts';
import type { RelayLimits } from './limits.ts';
import { createLink, type Link } from './link.ts';
import { createTransferReceiver, type ReadSubject } from './transfer-receiver.ts';
import { createTransferSender, type TransferSender } from './transfer-sender.ts';
import type { Assembler } from './wire/assembly.ts';
import { readServerRoots } from './wire/certificates.ts';
import type { Frame } from './wire/frame.ts';
import {
  helloFrame,
  type PeerLimits,
  PROTOCOL,
  readCapabilities,
  readFleet,
  readLimits,
  readVersion,
} from './wire/hello.ts';
import { ProtocolError } from './wire/protocol-error.ts';
import { readDigest, readReason, readText } from './wire/scalars.ts';
import { readSettings } from './wire/settings.ts';

/** What the server has said to the hello. */
export interface ServerWelcome {
  readonly version: string;
  /** The fleet that it serves. */
  readonly fleet: FleetName;
  readonly capabilities: readonly string[];
  readonly limits: PeerLimits;
  /** On Push: digest of the input that is at the server. */
  readonly inputDigest: Digest | undefined;
}

/** One of the two streams of a link, at the agent. */
export interface ClientStream {
  readonly link: Link;
  readonly sender: TransferSender;
  /** Resolves with the welcome, or undefined if the stream ended first. */
  readonly welcome: Promise<ServerWelcome | undefined>;
  /** Resolves when the transport's stream is gone. */
  readonly closed: Promise<unknown>;
}

/** What {@link openClientStream} needs. `open` gives the assembler for a transfer from the server, or throws. */
export interface ClientStreamOptions {
  readonly stream: MessageStream;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: RelayLimits;
  readonly hello: AgentHello;
  /** Notices silence; the other stream of the connection does not, and ends with this one. */
  readonly watches: boolean;
  readonly open: (subject: ReadSubject, transfer: bigint) => Assembler;
  readonly onDrain: (message: string) => void;
  /** Absent: settings have no place on this stream. */
  readonly onSettings?: (settings: AgentSettings) => void;
  /** Absent: roots have no place on this stream. */
  readonly onRoots?: (roots: string) => void;
}

/** Says hello and waits for the welcome; from then on transfers go both ways. */
export function openClientStream(options: ClientStreamOptions): ClientStream {
  const { stream, clock, log, limits, hello, watches } = options;
  const welcome = Promise.withResolvers<ServerWelcome | undefined>();
  let welcomed = false;
  const link = createLink({
    stream,
    clock,
    log,
    limits,
    watches,
    saysGoodbye: true,
    onFrame(frame) {
      if (welcomed) return read(frame);
      if (frame.case !== 'welcome') throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" before the welcome`);
      const answer = readWelcome(frame.value);
      welcomed = true;
      sender.setWindow(answer.limits.window);
      welcome.resolve(answer);
    },
  });
  const sender = createTransferSender({ link, clock, limits });
  const read = createReader(options, link, sender);
  // The server may first let an older session prove that it lives.
  const patienceMs = limits.helloMs + limits.probeMs;
  const cancel = clock.schedule(patienceMs, () => {
    link.end({ code: 'lost', reason: 'NoWelcome', message: `no answer to the hello within ${patienceMs / 1000} s` });
  });
  void welcome.promise.then(cancel);
  void link.over.then(() => welcome.resolve(undefined));
  void link.send(helloFrame(hello, limits));
  return { link, sender, welcome: welcome.promise, closed: stream.ended };
}

function createReader(options: ClientStreamOptions, link: Link, sender: TransferSender): (frame: Frame) => void {
  const receiver = createTransferReceiver({ link, limits: options.limits }, options.open);
  return (frame) => {
    switch (frame.case) {
      case 'begin':
        return receiver.begin(frame.value);
      case 'chunk':
        return receiver.chunk(frame.value);
      case 'chunkAck':
        return sender.acknowledged(frame.value);
      case 'verdict':
        if (!frame.value.accepted) readReason(frame.value.reason);
        return sender.answered(frame.value);
      case 'drain':
        return options.onDrain(readText(frame.value.message));
      case 'settings':
        if (options.onSettings === undefined) throw new ProtocolError('OutOfTurn', 'settings that were not asked for');
        return options.onSettings(readSettings(frame.value));
      case 'roots':
        if (options.onRoots === undefined) throw new ProtocolError('OutOfTurn', 'roots that were not asked for');
        return options.onRoots(readServerRoots(frame.value));
      default:
        throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" from a server`);
    }
  };
}

function readWelcome(welcome: Extract<Frame, { case: 'welcome' }>['value']): ServerWelcome {
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
  };
}
