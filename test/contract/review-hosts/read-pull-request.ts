import { createReviewHost } from '../../../src/adapters/review/review-host.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';

/** A process of its own, because one reads the certificates of its machine once. Arguments: address of the API, token. */
const [, , apiUrl = '', token = ''] = process.argv;
const deps = { clock: createSystemClock(), environment: {}, token: async () => token, ca: async () => undefined };
const host = createReviewHost('github', deps, { apiUrl, repository: 'acme/fleet' });
process.stdout.write(JSON.stringify(await host.read(7, new AbortController().signal)));
