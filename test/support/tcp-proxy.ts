import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Stands between a client and a server of this machine, and is as unreliable as it is told to be. */
export interface TcpProxy {
  readonly port: number;
  /** Ends all connections and takes no new ones, until `mend`. */
  cut(): void;
  mend(): void;
  /** The next request with this text reaches the server; its connection ends before the client receives the answer. */
  swallowReplyTo(text: string): void;
  /** The next request with this text does not reach the server; its connection ends. */
  dropRequest(text: string): void;
  /**
   * The next request with this text, and what follows on its connection, stays under way, even when the client has
   * given up, until the returned function lets it arrive. That one resolves when the server has answered.
   */
  holdRequest(text: string): () => Promise<void>;
  stop(): Promise<void>;
}

interface Fault {
  readonly text: string;
  readonly type: 'swallow' | 'drop' | 'hold';
  upstream?: Socket;
  readonly held: Buffer[];
}

/** `target`: a port; or the ports to try, the first that answers wins, asked at each connection. */
export async function startTcpProxy(target: number | (() => readonly number[])): Promise<TcpProxy> {
  const clients = new Set<Socket>();
  const upstreams = new Set<Socket>();
  let isCut = false;
  let fault: Fault | undefined;
  const server = createServer((client) => void serve(client)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  return {
    port: address.port,
    cut: () => {
      isCut = true;
      for (const client of clients) client.destroy();
    },
    mend: () => {
      isCut = false;
    },
    swallowReplyTo: (text) => {
      fault = { text, type: 'swallow', held: [] };
    },
    dropRequest: (text) => {
      fault = { text, type: 'drop', held: [] };
    },
    holdRequest: (text) => {
      const mine: Fault = { text, type: 'hold', held: [] };
      fault = mine;
      return async () => {
        const { upstream } = mine;
        if (upstream === undefined) throw new Error('nothing was held');
        const answered = once(upstream, 'data');
        upstream.write(Buffer.concat(mine.held));
        await answered;
        upstream.destroy();
      };
    },
    stop: async () => {
      server.close();
      for (const socket of [...clients, ...upstreams]) socket.destroy();
      await once(server, 'close');
    },
  };

  async function serve(client: Socket): Promise<void> {
    client.on('error', () => undefined);
    clients.add(client);
    client.on('close', () => clients.delete(client));
    const upstream = isCut ? undefined : await dial(typeof target === 'number' ? [target] : target());
    if (upstream === undefined || client.destroyed) {
      upstream?.destroy();
      client.destroy();
      return;
    }
    upstreams.add(upstream);
    let mine: Fault | undefined;
    upstream.on('error', () => undefined);
    client.on('close', () => {
      if (mine?.type !== 'hold') upstream.destroy();
    });
    upstream.on('close', () => {
      upstreams.delete(upstream);
      client.destroy();
    });
    client.on('data', (data: Buffer) => {
      if (mine === undefined && fault !== undefined && data.includes(fault.text)) {
        mine = fault;
        mine.upstream = upstream;
        fault = undefined;
      }
      if (mine?.type === 'drop') client.destroy();
      else if (mine?.type === 'hold') mine.held.push(data);
      else upstream.write(data);
    });
    upstream.on('data', (data: Buffer) => {
      if (mine?.type === 'swallow') client.destroy();
      else if (!client.destroyed) client.write(data);
    });
  }
}

/** Connected to the first of the ports that answers; undefined if none does. */
async function dial(ports: readonly number[]): Promise<Socket | undefined> {
  for (const port of ports) {
    const socket = connect(port, '127.0.0.1');
    const answered = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    if (answered) return socket;
  }
  return undefined;
}
