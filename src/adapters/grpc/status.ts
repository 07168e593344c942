import { Metadata, status } from '@grpc/grpc-js';
import { HAS_EXPIRED, NOT_YET_VALID } from '../../model/text/wrong-clock.ts';
import type { EndCode, StreamEnd } from '../../ports/transport.ts';

/** The trailer with the constant word for the reason of an end. */
const REASON_TRAILER = 'fleetrelay-reason';
/** The trailer of gRPC with the time until the next attempt, in milliseconds. */
const RETRY_TRAILER = 'grpc-retry-pushback-ms';
/** The longest time that a trailer can ask a peer to wait. */
const LONGEST_RETRY_MS = 60 * 60 * 1000;
const REASON = /^[A-Z][A-Za-z0-9]{0,63}$/;
/** Longest message from the other end, in characters. */
const MESSAGE_LENGTH = 1024;

const CODES: Readonly<Record<EndCode, status>> = {
  done: status.OK,
  unavailable: status.UNAVAILABLE,
  refused: status.FAILED_PRECONDITION,
  unauthenticated: status.UNAUTHENTICATED,
  invalid: status.INVALID_ARGUMENT,
  exhausted: status.RESOURCE_EXHAUSTED,
  lost: status.ABORTED,
};

/** A gRPC status with its trailers. */
export interface Status {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** The status that transports this end to the peer. */
export function statusOf(end: StreamEnd): Status {
  const metadata = new Metadata();
  metadata.set(REASON_TRAILER, end.reason);
  if (end.retryAfterMs !== undefined) metadata.set(RETRY_TRAILER, String(Math.ceil(end.retryAfterMs)));
  return { code: CODES[end.code], details: end.message.slice(0, MESSAGE_LENGTH).toWellFormed(), metadata };
}

/** The end that a status transports. A status without the trailer is from gRPC itself, about the connection. */
export function endOf({ code, details, metadata }: Status): StreamEnd {
  const message = details.slice(0, MESSAGE_LENGTH);
  const trailer = metadata.get(REASON_TRAILER)[0];
  if (typeof trailer === 'string' && REASON.test(trailer)) {
    return { code: codeOf(code), reason: trailer, message, ...retryAfter(metadata) };
  }
  switch (code) {
    case status.OK:
      return { code: 'done', reason: 'Closed', message: 'the server has closed the stream' };
    case status.UNAVAILABLE:
      return { code: 'lost', reason: unavailableReason(message), message: explained(message) };
    case status.RESOURCE_EXHAUSTED:
      return { code: 'exhausted', reason: 'MessageTooLarge', message };
    case status.UNIMPLEMENTED:
      return {
        code: 'refused',
        reason: 'NoRelayThere',
        message: `the server does not speak this protocol: ${message}`,
      };
    default:
      return { code: 'lost', reason: 'ConnectionLost', message };
  }
}

function retryAfter(metadata: Metadata): Pick<StreamEnd, 'retryAfterMs'> {
  const [told] = metadata.get(RETRY_TRAILER);
  if (typeof told !== 'string' || !/^\d{1,9}$/.test(told)) return {};
  return { retryAfterMs: Math.min(Number(told), LONGEST_RETRY_MS) };
}

function codeOf(code: status): EndCode {
  const [end = 'lost'] = Object.entries(CODES).find(([, mapped]) => mapped === code) ?? [];
  return end as EndCode;
}

/** Advice for failures that a person can remedy; the text of gRPC follows it. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [
    /unable to verify|unable to get (local )?issuer|self[- ]signed/i,
    "the server's certificate is not of the given authority: give the server's trust/ca.crt as --ca-file",
  ],
  [
    /altname|does not match certificate/i,
    'the certificate is not made for this name: dial another one, or give the server --tls-name',
  ],
  [
    /wrong version number|packet length too long/i,
    "no TLS is spoken there: is this the relay's port? Where the server runs with --insecure the agent must too, on the same machine",
  ],
  [/not yet valid/i, `the server's certificate ${NOT_YET_VALID}`],
  [
    /has expired/i,
    `the server's certificate ${HAS_EXPIRED}: give the server a new one; one that it made itself it renews while it runs, and its log says what hinders it`,
  ],
];

function explained(message: string): string {
  const words = message
    .replace(/\s*Resolution note:\s*$/, '')
    .replace(/; if the root CA is installed locally[^.;]*/, '')
    .replace(/\s+/g, ' ');
  const advice = ADVICE.find(([pattern]) => pattern.test(words))?.[1];
  return advice === undefined ? words : `${advice} (${words})`;
}

/** The end of a call without TLS. A server with TLS closes such a connection without a reason. */
export function endWithoutTls(status: Status): StreamEnd {
  const end = endOf(status);
  if (end.reason !== 'Unreachable' || !/Failed to connect|Protocol error/i.test(end.message)) return end;
  const advice =
    "the server there takes no connection without TLS: is this the relay's port? Where the server has TLS leave out --insecure, and give its trust/ca.crt as --ca-file";
  return { ...end, message: `${advice} (${end.message})` };
}

/** gRPC gives the reason of a failed connection as text only. */
function unavailableReason(details: string): string {
  if (/certificate|altname|self[- ]signed/i.test(details)) return 'ServerCertificate';
  return /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|No connection|Name resolution/i.test(details)
    ? 'Unreachable'
    : 'ConnectionLost';
}
