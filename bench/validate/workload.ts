/** Manifests as a repository of many applications holds them: one document a file, 1.2 KB on average. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const DOCUMENTS = 10_000;
/** Applications; each has one document of every kind below. */
const APPLICATIONS = 1_000;

/** The documents of an application by file name: ten for each. */
const KINDS: Readonly<Record<string, (app: string, namespace: string, index: number) => string>> = {
  deployment,
  worker,
  cronjob,
  service,
  config,
  ingress,
  role,
  binding,
  autoscaler,
  account,
};

/** Writes the repository and returns the number of its bytes. */
export function writeManifests(folder: string): number {
  let bytes = 0;
  for (let index = 0; index < APPLICATIONS; index += 1) {
    const app = `app-${index}`;
    const namespace = `team-${index % 40}`;
    const place = join(folder, namespace, app);
    mkdirSync(place, { recursive: true });
    for (const [name, write] of Object.entries(KINDS)) {
      const text = write(app, namespace, index);
      writeFileSync(join(place, `${name}.yaml`), text);
      bytes += Buffer.byteLength(text);
    }
  }
  return bytes;
}

function metadata(name: string, app: string, namespace: string): string {
  return `metadata:
  name: ${name}
  namespace: ${namespace}
  labels:
    app.kubernetes.io/name: ${app}
    app.kubernetes.io/part-of: shop
    app.kubernetes.io/managed-by: fleetrelay
    team: ${namespace}
`;
}

function podTemplate(name: string, app: string, index: number, indent: string): string {
  return `metadata:
  labels:
    app.kubernetes.io/name: ${name}
    app.kubernetes.io/part-of: shop
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: "9090"
spec:
  serviceAccountName: ${app}
  automountServiceAccountToken: true
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: ${name}
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app.kubernetes.io/name: ${name}
  terminationGracePeriodSeconds: 45
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  containers:
  - name: main
    image: registry.example.com/shop/${name}:1.${index % 90}.${index % 7}
    imagePullPolicy: IfNotPresent
    args:
    - --listen=:8080
    - --metrics=:9090
    - --log-level=info
    ports:
    - name: http
      containerPort: 8080
    - name: metrics
      containerPort: 9090
      protocol: TCP
    env:
    - name: POD_NAME
      valueFrom:
        fieldRef:
          fieldPath: metadata.name
    - name: DATABASE_PASSWORD
      valueFrom:
        secretKeyRef:
          name: ${app}-database
          key: password
          optional: true
    - name: REGION
      value: eu-central-${(index % 3) + 1}
    envFrom:
    - configMapRef:
        name: ${app}
    resources:
      requests:
        cpu: ${100 + (index % 10) * 50}m
        memory: ${128 + (index % 8) * 64}Mi
      limits:
        memory: ${512 + (index % 8) * 64}Mi
    readinessProbe:
      httpGet:
        path: /ready
        port: http
      initialDelaySeconds: 5
      periodSeconds: 10
    livenessProbe:
      httpGet:
        path: /live
        port: http
      periodSeconds: 20
      failureThreshold: 6
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop:
        - ALL
    volumeMounts:
    - name: config
      mountPath: /etc/${name}
      readOnly: true
    - name: scratch
      mountPath: /tmp
  volumes:
  - name: config
    configMap:
      name: ${app}
      defaultMode: 292
  - name: scratch
    emptyDir:
      sizeLimit: 256Mi
`.replaceAll(/^(?=.)/gm, indent);
}

function deployment(app: string, namespace: string, index: number): string {
  return `apiVersion: apps/v1
kind: Deployment
${metadata(app, app, namespace)}spec:
  replicas: ${(index % 5) + 2}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: ${app}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 25%
      maxUnavailable: 0
  template:
${podTemplate(app, app, index, '    ')}`;
}

function worker(app: string, namespace: string, index: number): string {
  const name = `${app}-worker`;
  return `apiVersion: apps/v1
kind: StatefulSet
${metadata(name, app, namespace)}spec:
  serviceName: ${app}
  replicas: ${(index % 3) + 1}
  selector:
    matchLabels:
      app.kubernetes.io/name: ${name}
  template:
${podTemplate(name, app, index, '    ')}  volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests:
          storage: ${(index % 20) + 1}Gi
`;
}

function cronjob(app: string, namespace: string, index: number): string {
  const name = `${app}-report`;
  return `apiVersion: batch/v1
kind: CronJob
${metadata(name, app, namespace)}spec:
  schedule: "${index % 60} ${index % 24} * * *"
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 1
  jobTemplate:
    spec:
      backoffLimit: 2
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: report
            image: registry.example.com/shop/report:2.${index % 30}.0
            command: [/report, --app=${app}]
            resources:
              requests: { cpu: 50m, memory: 64Mi }
`;
}

function service(app: string, namespace: string): string {
  return `apiVersion: v1
kind: Service
${metadata(app, app, namespace)}spec:
  type: ClusterIP
  selector:
    app.kubernetes.io/name: ${app}
  ports:
  - name: http
    port: 80
    targetPort: http
    protocol: TCP
  - name: metrics
    port: 9090
    targetPort: metrics
`;
}

function config(app: string, namespace: string, index: number): string {
  return `apiVersion: v1
kind: ConfigMap
${metadata(app, app, namespace)}data:
  LOG_FORMAT: json
  CACHE_SIZE: "${index * 10}"
  FEATURE_CHECKOUT: "true"
  server.yaml: |
    # The settings of the server.
    listen: 0.0.0.0:8080
    upstreams:
    - name: catalogue
      address: catalogue.${namespace}.svc.cluster.local:80
      timeout: 2s
    - name: payment
      address: payment.${namespace}.svc.cluster.local:80
      timeout: 5s
    limits:
      requestsPerSecond: ${index % 1000}
      burst: 50
    sessions:
      store: redis.${namespace}.svc.cluster.local:6379
      lifetime: 12h
      cookie: { name: session, secure: true, sameSite: strict }
    features:
    - { name: checkout-v2, share: ${index % 100} }
    - { name: search-suggestions, share: 100 }
    - { name: dark-mode, share: 50 }
    mail:
      host: smtp.example.com
      from: noreply@shop.example.com
      templates: /etc/${app}/mail
    tracing:
      endpoint: http://collector.observability.svc.cluster.local:4318
      sampling: 0.${(index % 9) + 1}
  logging.json: |
    {
      "level": "info",
      "fields": { "team": "${namespace}", "application": "${app}" },
      "outputs": ["stdout", "https://logs.example.com/${namespace}"]
    }
  nginx.conf: |
    server {
      listen 8080;
      location / { proxy_pass http://127.0.0.1:8081; }
      location /static/ { root /usr/share/nginx/html; expires 1h; }
    }
`;
}

function ingress(app: string, namespace: string): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
${metadata(app, app, namespace)}  annotations:
    cert-manager.io/cluster-issuer: letsencrypt
    nginx.ingress.kubernetes.io/proxy-body-size: 8m
spec:
  ingressClassName: nginx
  tls:
  - hosts:
    - ${app}.shop.example.com
    secretName: ${app}-tls
  rules:
  - host: ${app}.shop.example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: ${app}
            port:
              name: http
`;
}

function role(app: string, namespace: string): string {
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
${metadata(app, app, namespace)}rules:
- apiGroups: [""]
  resources: [configmaps, endpoints]
  verbs: [get, list, watch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, update]
  resourceNames: [${app}]
`;
}

function binding(app: string, namespace: string): string {
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
${metadata(app, app, namespace)}roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: ${app}
subjects:
- kind: ServiceAccount
  name: ${app}
  namespace: ${namespace}
`;
}

function autoscaler(app: string, namespace: string, index: number): string {
  return `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
${metadata(app, app, namespace)}spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: ${app}
  minReplicas: 2
  maxReplicas: ${(index % 10) + 5}
  metrics:
  - type: Resource
    resource:
      name: cpu
      target:
        type: Utilization
        averageUtilization: 70
`;
}

function account(app: string, namespace: string): string {
  return `apiVersion: v1
kind: ServiceAccount
${metadata(app, app, namespace)}  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/shop-${namespace}-${app}
    iam.gke.io/gcp-service-account: ${app}@shop-${namespace}.iam.gserviceaccount.com
    example.com/contact: team-${namespace}@shop.example.com
automountServiceAccountToken: false
`;
}
