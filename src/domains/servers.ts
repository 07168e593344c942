import type { ServedDomain } from '../compose/serve/server-part.ts';
import { domains } from './domains.ts';

/** The domains of a management server, in their order. */
export const servedDomains: readonly ServedDomain[] = await Promise.all(
  domains.map(async ({ engine, server }) => ({
    engine: await engine(),
    ...(server === undefined ? {} : { server: await server() }),
  })),
);
