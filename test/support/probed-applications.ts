import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Server as GrpcServer, type Metadata, ServerCredentials } from '@grpc/grpc-js';
import { X509CertificateGenerator } from '@peculiar/x509';

/** An application of a Pod, as its probes see it. */
export interface ProbedApplication {
  readonly port: number;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';

/** A plain TCP application; `connected` gets each connection. */
export function tcpApplication(connected: (socket: Socket) => void, host = LOOPBACK): Promise<ProbedApplication> {
  return listening(createTcpServer(connected), host);
}

export function httpApplication(listener: RequestListener, host = LOOPBACK): Promise<ProbedApplication> {
  return listening(createHttpServer(listener), host);
}

/** With a certificate that only a probe accepts: signed by itself, for another name, expired, with a short RSA key. */
export async function httpsApplication(listener: RequestListener, host = LOOPBACK): Promise<ProbedApplication> {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    publicExponent: Uint8Array.of(1, 0, 1),
    modulusLength: 1_024,
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: 'CN=elsewhere.example',
    notBefore: new Date('2001-01-01'),
    notAfter: new Date('2002-01-01'),
    signingAlgorithm: algorithm,
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
  const tls = { key, cert: certificate.toString('pem'), ciphers: 'DEFAULT@SECLEVEL=0' };
  return listening(createHttpsServer(tls, listener), host);
}

async function listening(server: Server, host: string): Promise<ProbedApplication> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      if (server.listening) await once(server, 'close');
    },
  };
}

/** What a gRPC application was asked. */
export interface HealthCheck {
  readonly service: string;
  readonly metadata: Metadata;
}

/**
 * A gRPC application with `grpc.health.v1.Health`: `check` returns a serving status, an error, or undefined for no answer.
 */
export async function grpcApplication(
  check: (asked: HealthCheck) => number | { readonly code: number } | undefined,
  host = LOOPBACK,
): Promise<ProbedApplication> {
  const server = new GrpcServer();
  const method = {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: ({ service }: { readonly service: string }) => Buffer.from(service),
    requestDeserialize: serviceOf,
    responseSerialize: (value: number) =>
      Buffer.from(new BinaryWriter().tag(1, 0).int32(value).tag(9, 2).string('more').finish()),
    responseDeserialize: (bytes: Buffer) => bytes.length,
  } as const;
  server.addService(
    { check: method },
    {
      check: (
        call: { request: { service: string }; metadata: Metadata },
        answer: (error: object | null, value?: number) => void,
      ) => {
        const answered = check({ ...call.request, metadata: call.metadata });
        if (typeof answered === 'number') answer(null, answered);
        else if (answered !== undefined) answer(answered);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    const address = host.includes(':') ? `[${host}]:0` : `${host}:0`;
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return {
    port,
    stop: async () => server.forceShutdown(),
  };
}

/** An object, because the library takes an empty text for a missing message. */
function serviceOf(bytes: Buffer): { service: string } {
  const reader = new BinaryReader(bytes);
  let service = '';
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) service = reader.string();
    else reader.skip(type);
  }
  return { service };
}
