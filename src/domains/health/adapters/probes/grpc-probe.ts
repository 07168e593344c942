import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { isIPv6 } from 'node:net';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { type ProbeOutcome, unhealthy } from '../../probes/outcome.ts';
import type { GrpcTarget } from '../../probes/target.ts';
import { type Application, connectTo } from './application.ts';

/** How a service is asked. */
export interface GrpcCall {
  readonly version: string;
  readonly timeoutSeconds: number;
  /** Aborting it ends the probe as unhealthy. */
  readonly signal: AbortSignal;
}

const PATH = '/grpc.health.v1.Health/Check';
/** Of `HealthCheckResponse.ServingStatus`. */
const SERVING = 1;
/** A byte that says whether the message is compressed, and four with its length. */
const FRAME_HEAD_BYTES = 5;
const MAX_ANSWER_BYTES = 10 * 1024;

/**
 * Asks `grpc.health.v1.Health` about a service, without TLS. Written by hand: the library for gRPC cannot choose the address
 * that it connects from, and takes memory in every Pod.
 */
export function probeGrpc(application: Application, target: GrpcTarget, call: GrpcCall): Promise<ProbeOutcome> {
  const { address } = application;
  const { port, service } = target;
  const { signal } = call;
  const authority = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(unhealthy(String(signal.reason)));
    const session = connect(`http://${authority}`, {
      createConnection: () => connectTo(application, port),
      settings: { enablePush: false },
    });
    const aborted = (): void => finish(unhealthy(String(signal.reason)));
    const finish = (outcome: ProbeOutcome): void => {
      signal.removeEventListener('abort', aborted);
      session.destroy();
      resolve(outcome);
    };
    signal.addEventListener('abort', aborted);
    session.on('error', (error) => finish(unhealthy(String(error))));
    session.on('close', () => finish(unhealthy('the application closed the connection')));
    ask(session, authority, service, call).then(finish, (error: unknown) => finish(unhealthy(String(error))));
  });
}

/** Resolves with the outcome, or rejects with the error of the stream. */
function ask(
  session: ClientHttp2Session,
  authority: string,
  service: string,
  { version, timeoutSeconds }: GrpcCall,
): Promise<ProbeOutcome> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': authority,
      ':path': PATH,
      te: 'trailers',
      'content-type': 'application/grpc',
      'user-agent': `kube-probe/${version}`,
      'grpc-timeout': `${timeoutSeconds}S`,
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let head: IncomingHttpHeaders = {};
    let end: IncomingHttpHeaders = {};
    stream.on('error', reject);
    stream.on('response', (headers) => {
      head = headers;
    });
    stream.on('trailers', (headers) => {
      end = headers;
    });
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) stream.destroy(new Error('the answer is too long'));
      chunks.push(chunk);
    });
    stream.on('close', () => resolve(outcomeOf({ ...head, ...end }, Buffer.concat(chunks))));
    stream.end(requestFrame(service));
  });
}

/** `HealthCheckRequest` with the field `service = 1`. */
function requestFrame(service: string): Buffer {
  const message = service === '' ? new Uint8Array() : new BinaryWriter().tag(1, 2).string(service).finish();
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function outcomeOf(headers: IncomingHttpHeaders, body: Buffer): ProbeOutcome {
  const code = headers['grpc-status'];
  if (code !== '0') {
    const message = headers['grpc-message'] ?? '';
    return unhealthy(`the call failed: HTTP ${headers[':status']}, gRPC ${code ?? 'without status'} ${message}`);
  }
  const isWhole = body.length >= FRAME_HEAD_BYTES && body.readUInt32BE(1) === body.length - FRAME_HEAD_BYTES;
  if (!isWhole || body[0] !== 0) return unhealthy('the answer is no gRPC message');
  const status = statusOf(body.subarray(FRAME_HEAD_BYTES));
  return status === SERVING ? { type: 'healthy' } : unhealthy(`the service has the status ${status}`);
}

/** The field `status = 1` of a `HealthCheckResponse`. Throws if it is none. */
function statusOf(message: Uint8Array): number {
  const reader = new BinaryReader(message);
  let status = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === 0) status = reader.int32();
    else reader.skip(wireType);
  }
  return status;
}
