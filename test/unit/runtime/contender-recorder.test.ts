import { expect, it } from 'vitest';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import { createContenderRecorder } from '../../../src/runtime/ledger/recorders.ts';

it.each(['leader', 'follower'] as const)(
  'a %s forgets contenders that declare nothing any more; only a leader writes that to the store',
  (role) => {
    const engine = createEngine(createGraph(), engineDomains);
    engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role });
    const puts: string[] = [];
    const work = createContenderRecorder(engine, { put: (key) => void puts.push(key), noted: () => undefined });
    const recorder = (): boolean => {
      const pieces = work();
      for (;;) {
        const { done, value } = pieces.next();
        if (done === true) return value;
      }
    };
    engine.commit();
    recorder();
    const origin = { source: must(parseSourceName('gone')), path: 'x.yaml' };
    engine.inputs.contenders.set('east', '/ConfigMap/web/x', { origins: [origin], scope: [] });
    engine.commit();
    expect(recorder()).toBe(true);
    engine.commit();
    expect([...engine.inputs.contenders.partitions()]).toEqual([]);
    expect(puts).toEqual(role === 'leader' ? ['contenders/east//ConfigMap/web/x'] : []);
  },
);
