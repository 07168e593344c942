import { findKubernetesPrograms } from '../../../scripts/local/kubernetes-programs.ts';

const programs = findKubernetesPrograms(process.env);

/** For `describe.skipIf`: there is no control plane to be had. One line of `npm test` says so. */
export const noKubernetes = programs === undefined;
/** For `describe.skipIf`: there is none that finalizes namespaces, collects garbage and rolls out. */
export const noControllers = programs?.controllerManager === undefined;
