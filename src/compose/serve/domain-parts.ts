import { merged } from '../../model/values/merged.ts';
import type { ServerBus } from '../../runtime/events.ts';
import type { StatusRules } from '../../runtime/status/status-rules.ts';
import type { Reading } from '../../server/metrics.ts';
import type { Address, ServedDomain, ServerPartDeps, ServerProcess } from './server-part.ts';

/** The domains as the configuration wants them. Throws, with a text for people, if it is wrong. */
export function configuredDomains(domains: readonly ServedDomain[], process: ServerProcess): readonly ServedDomain[] {
  return domains.map(({ engine, server }) => ({
    engine,
    ...(server && { server: server.configured?.(process) ?? server }),
  }));
}

/** What the domains have in the store, and say of statuses. */
export function declaredByDomains(domains: readonly ServedDomain[]) {
  return {
    records: domains.flatMap(({ server }) => server?.records ?? []),
    rules: merged(
      'rule of statuses',
      domains.map(({ engine, server }) => [engine.name, server?.statuses]),
    ) as StatusRules,
  };
}

interface Served extends Pick<ServerPartDeps, 'audit'> {
  readonly domains: readonly ServedDomain[];
  /** Absent: it is the only server. */
  readonly replicas?: { readonly id: string };
}

/** Makes the parts of the domains, and joins them. */
export function createDomainParts(
  { domains, audit, replicas }: Served,
  core: Omit<ServerPartDeps, 'id' | 'ready' | 'audit'> & { readonly events: Pick<ServerBus, 'on'> },
  ready: () => boolean,
) {
  const deps = { ...core, id: replicas?.id ?? '', ready, ...(audit && { audit }) };
  const served = domains.flatMap(({ engine: { name }, server }) =>
    server === undefined ? [] : [{ name, metrics: server.metrics ?? [], part: server.create(deps) }],
  );
  const parts = served.map(({ part }) => part);
  for (const { lead } of parts) if (lead) core.events.on('leads', lead);
  return {
    acts: parts.flatMap(({ acts = [] }) => acts),
    questions: parts.flatMap(({ questions = [] }) => questions),
    /** What the metrics show now, by their names. */
    samples: (): ReadonlyMap<string, Reading> =>
      new Map(
        served.flatMap(({ metrics, part: { figures } }) => {
          const now = figures?.();
          return figures === undefined ? [] : metrics.map((metric) => [metric.name, metric.read(now)] as const);
        }),
      ),
    start: async (): Promise<Readonly<Record<string, Address>>> => {
      const addresses: (readonly [string, Readonly<Record<string, Address>> | undefined])[] = [];
      for (const { name, part } of served) addresses.push([name, await part.start?.()]);
      return merged('listener', addresses);
    },
    /** Resolves when all have ended: what others still have to write does not depend on one of them. */
    stop: async (): Promise<void> => {
      const ends = await Promise.allSettled(parts.map(async (part) => part.stop?.()));
      for (const end of ends)
        if (end.status === 'rejected') core.log.error('a domain has not ended well', { error: end.reason });
    },
  };
}
