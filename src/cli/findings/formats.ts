import { type CommandAnswer, FORMATS, type Formats } from '../output.ts';
import type { ShownFindings } from './findings.ts';

/** The formats of findings. The module of a format is loaded when it is used. */
export const FINDING_FORMATS: Formats<ShownFindings> = {
  text: async (out, shown) => (await import('./text.ts')).writeText(shown.out ?? out, shown),
  json: async (out, shown) => FORMATS.json(out, await answerOf(shown)),
  yaml: async (out, shown) => FORMATS.yaml(out, await answerOf(shown)),
  junit: async (out, shown) => (await import('./junit.ts')).writeJunit(out, shown),
  tap: async (out, shown) => (await import('./tap.ts')).writeTap(out, shown),
  sarif: async (out, shown) => (await import('./sarif.ts')).writeSarif(out, shown),
  github: async (out, shown) => (await import('./github.ts')).writeGithub(out, shown),
  gitlab: async (out, shown) => (await import('./gitlab.ts')).writeGitlab(out, shown),
};

async function answerOf(shown: ShownFindings): Promise<CommandAnswer> {
  const { findingsForPrograms } = await import('./json.ts');
  return { value: findingsForPrograms(shown), table: () => undefined };
}
