import { connect, type Socket } from 'node:net';
import { given } from '../../../../model/values/given.ts';

/** The Pod whose applications are asked. */
export interface Application {
  /** IP address of the Pod. */
  readonly address: string;
  /** IP address that connections come from; absent: the system chooses. */
  readonly sourceAddress?: string | undefined;
}

/** Opens a TCP connection to a port of the Pod. Port 0 fails, as every port on which no application listens. */
export function connectTo({ address, sourceAddress }: Application, port: number): Socket {
  return connect({ host: address, port, ...given({ localAddress: sourceAddress }) });
}
