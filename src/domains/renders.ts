import type { ReadInput, RecordedReports } from '../compose/render/domain-render.ts';
import { domains } from './domains.ts';

/** What a domain adds to an evaluation of a folder, loaded. */
interface LoadedRender {
  readonly name: string;
  readonly reports: RecordedReports | undefined;
  readonly read: ReadInput | undefined;
}

/** What each domain adds to an evaluation of a folder. */
export const domainRenders: readonly LoadedRender[] = await Promise.all(
  domains.map(async ({ name, render }) => ({
    name,
    reports: await render?.reports?.(),
    read: await render?.file?.read(),
  })),
);
