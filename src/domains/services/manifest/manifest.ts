import type { DomainManifest } from '../../../manifest/kinds/decoders.ts';
import { readMirror } from './mirror.ts';

/** What documents say of mirrored services. */
export const servicesManifest: DomainManifest = { decoders: { ServiceMirror: readMirror } };
