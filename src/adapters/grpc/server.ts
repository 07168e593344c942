import { Relay } from '../../../generated/relay_pb.ts';
import { isLoopback } from '../../http/loopback.ts';
import type { IncomingCall, ServerTransport, TransportListener } from '../../ports/transport.ts';
import { createGrpcListener, type GrpcServerOptions, type GrpcService } from './listener.ts';

/** The relay's listening end over gRPC. Throws for an insecure address that is not loopback, unless `anywhere`. */
export function createGrpcServerTransport(options: GrpcServerOptions): ServerTransport {
  const { host, security } = options;
  if (security.type === 'insecure' && security.anywhere !== true && !isLoopback(host)) {
    throw new Error(
      `the relay without TLS may listen on a loopback address only, not on ${host}: give it one (--listen 127.0.0.1:9900, or relay.listen), or say twice that it may be open (--insecure-listen-anywhere, or relay.tls.insecureListenAnywhere)`,
    );
  }
  const { start, stop } = createGrpcListener(options);
  return {
    start: (listener) =>
      start({
        services: [relayService(listener)],
        turnedAway: (refusal, peer) => listener.turnedAway?.(refusal, peer),
      }),
    stop,
  };
}

function relayService(listener: TransportListener): GrpcService {
  const { push, pull, register } = Relay.method;
  return {
    typeName: Relay.typeName,
    methods: {
      [push.name]: (call) => listener.stream({ ...call, method: 'Push' }),
      [pull.name]: (call) => listener.stream({ ...call, method: 'Pull' }),
      // A stream on this side only: gRPC would call a unary method after it has received the complete request of an unauthenticated caller.
      [register.name]: (call) => void answerRegistration(listener, call),
    },
  };
}

async function answerRegistration(listener: TransportListener, call: IncomingCall): Promise<void> {
  const answer = await listener.register(call);
  if ('refused' in answer) return call.end(answer.refused);
  await call.write(answer.response);
  call.end({ code: 'done', reason: 'Answered', message: '' });
}
