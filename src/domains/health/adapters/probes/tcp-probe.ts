import { once } from 'node:events';
import { type ProbeOutcome, unhealthy } from '../../probes/outcome.ts';
import type { TcpTarget } from '../../probes/target.ts';
import { type Application, connectTo } from './application.ts';

/** Healthy if a connection can be opened. Rejects when the signal aborts. */
export async function probeTcp(
  application: Application,
  { port }: TcpTarget,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const socket = connectTo(application, port);
  try {
    await once(socket, 'connect', { signal });
    // Closed in good order, so that the application sees no reset.
    socket.on('error', () => socket.destroy());
    socket.end(() => socket.destroy());
    return { type: 'healthy' };
  } catch (error) {
    socket.destroy();
    return unhealthy(String(error));
  }
}
