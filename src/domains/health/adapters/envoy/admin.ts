/** Longest wait for the admin interface, in milliseconds. */
const DEADLINE_MS = 5_000;

/** Has an Envoy fail its own health check, so that it reports itself as unhealthy. Rejects if its admin interface does not obey. */
export async function failHealthCheck(adminPort: number, signal: AbortSignal): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/healthcheck/fail`, {
    method: 'POST',
    signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`the admin interface answers ${answer.status}`);
}
