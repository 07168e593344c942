import { Hono } from 'hono';

/** Is the process fit for its work? Asked at each request, so it must be cheap. */
export interface Health {
  /** `reasons` says in sentences why not; empty when ready. Open to everybody who can connect: nothing secret. */
  ready(): { readonly ok: boolean; readonly reasons: readonly string[] };
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `/healthz` (the process answers), `/readyz` (and why not), `/metrics` (if there are any). */
export function healthRoutes(health: Health, metrics: (() => Promise<string>) | undefined): Hono {
  const routes = new Hono();
  routes.get('/healthz', (context) => context.text('ok\n'));
  routes.get('/readyz', (context) => {
    const { ok, reasons } = health.ready();
    const lines = ok ? ['ready'] : ['not ready', ...reasons.map((reason) => `- ${reason}`)];
    return context.text(`${lines.join('\n')}\n`, ok ? 200 : 503);
  });
  if (metrics !== undefined) {
    routes.get('/metrics', async (context) => context.body(await metrics(), 200, { 'Content-Type': METRICS_TYPE }));
  }
  return routes;
}
