import { engineDomains } from '../../src/domains/engines.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import type { Domain } from '../../src/engine/domain.ts';
import { createEngine, type Engine } from '../../src/engine/graph.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';
import { decodeFile } from './decode-file.ts';

/** An engine with one source, `main`, that has been read and is empty. */
export function createEngineWorld(among: readonly Domain[] = engineDomains): {
  readonly engine: Engine;
  file(path: string, text: string | null): void;
} {
  const engine = createEngine(createGraph(), among);
  engine.inputs.fleet.set('', '', {
    bounds: { guards: {}, safeModes: [], webhookRemediator: false },
    role: 'leader',
  });
  engine.inputs.sources.set('', 'main', { order: 0, read: true });
  return {
    engine,
    /** Stages a file; null: it is gone. */
    file: (path, text) => {
      const reading = text === null ? null : decodeFile(path, new TextEncoder().encode(text), text).reading;
      stageFile(engine, 'main', path, reading);
    },
  };
}
