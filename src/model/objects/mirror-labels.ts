/** Gimbal's labels of the objects that mirroring makes. Such objects are never mirrored again. */
export const mirrorLabels = {
  backend: 'gimbal.projectcontour.io/backend',
  service: 'gimbal.projectcontour.io/service',
} as const;
