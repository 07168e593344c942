import type { Act } from '../../../api/answer.ts';
import type { Texts } from '../../../api/domain-api.ts';
import { renewToken } from '../../../compose/serve/process-api.ts';
import type { RunningPart, ServerPart, ServerPartDeps, ServerProcess } from '../../../compose/serve/server-part.ts';
import { given } from '../../../model/values/given.ts';
import { dataplaneSubject } from '../model/dataplane.ts';
import { dataplaneView } from '../runtime/dataplane-question.ts';
import { reportRecords } from '../runtime/reports.ts';
import { streamRecords } from '../runtime/streams.ts';
import { HEALTH_METRICS, type HealthFigures } from '../server/health-metrics.ts';
import { createXds, type XdsSetup } from '../xds/xds.ts';
import { openXds } from './open-xds.ts';

/** The act that makes every earlier token of a data plane invalid, and ends its streams. */
export const RENEW_DATAPLANE_TOKEN = '/dataplanes/:mesh/:name/renew-token';

/** What renews tokens. */
type Tokens = Parameters<typeof renewToken>[0];

/** Data planes at a management server that serves no Envoys until it is configured. */
export const healthServer: ServerPart<HealthFigures> = {
  ...createHealthServer(undefined),
  configured: ({ config, relay, env, log }: ServerProcess) =>
    createHealthServer(openXds(config, relay, { env }), { generations: relay.records.generations, log }),
};

/** `setup`: what Envoys are served with; undefined: none is. `tokens`: absent: they are not renewed. */
export function createHealthServer(setup: XdsSetup | undefined, tokens?: Tokens): ServerPart<HealthFigures> {
  return {
    records: [streamRecords, reportRecords],
    metrics: HEALTH_METRICS,
    create: (core) => runHealthServer(core, setup, tokens),
  };
}

function runHealthServer(
  core: ServerPartDeps,
  setup: XdsSetup | undefined,
  tokens: Tokens | undefined,
): RunningPart<HealthFigures> {
  const xds = createXds(core, setup);
  const view = ({ mesh = '', name = '' }: Texts) => dataplaneView(core, { mesh, name }, xds.address());
  const renew = async (tokensOf: Tokens, names: Texts, by: string): Promise<Act<object>> => {
    const declared = view(names);
    if (!declared.ok) return declared;
    const { mesh, name } = declared.value;
    const renewed = await renewToken(tokensOf, dataplaneSubject(`${mesh}/${name}`), { mesh, dataplane: name, by });
    return renewed.ok ? { ...renewed, value: { mesh, name, ...renewed.value } } : renewed;
  };
  const renewal = tokens && {
    path: RENEW_DATAPLANE_TOKEN,
    isTrust: true as const,
    run: (names: Texts, by: string) => renew(tokens, names, by),
  };
  return {
    questions: [{ path: '/dataplanes/:mesh/:name', answer: view }],
    ...(renewal && { acts: [renewal] }),
    figures: () => ({ envoys: xds.figures(), meshes: xds.meshes() }),
    start: async () => {
      const address = await xds.start();
      return given({ xds: address });
    },
    stop: xds.stop,
  };
}
