import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** First byte of a stored entry: its format, which includes the dictionary. */
export const ZSTD_DICTIONARY_1 = 1
/** Not compressed, for entries that are delivered immediately. */
export const PLAIN = 2

/** Up to this size, about three pods, compression uses a higher level, because small inputs cost little time. */
const SMALL_BYTES = 16 * 1024

function optionsOf(level: number) {
  return { params: { [constants.ZSTD_c_compressionLevel]: level }, dictionary: DICTIONARY }
}

/** Packs with zstd and our dictionary. */
export function compress(raw: Buffer): Buffer {
  const options = raw.length <= SMALL_BYTES ? TIGHT : QUICK
  return zstdCompressSync(raw, { ...options, chunkSize: chunkSize(raw.length / 4) })
}

/** A frame of a watch has at most 64 MiB. Data that unpacks to more than this is foreign, and could exhaust memory. */
export const MAX_UNPACKED_BYTES = 80 * 1024 * 1024

/** Undoes `compress`. Throws an error of zlib if the data is damaged, or unpacks to more than the maximum. */
export function decompress(packed: Buffer): Buffer {
  const expected = contentSize(packed) ?? packed.length * 12
  return zstdDecompressSync(packed, {
    dictionary: DICTIONARY,
    chunkSize: chunkSize(expected + 1),
    maxOutputLength: MAX_UNPACKED_BYTES,
  })
}

/**
 * Returns the size of the buffer for output, in bytes. Node's zlib keeps that buffer until the next full collection, because
 * its native handle does; more than one byte too many is wasted for as long.
 */
export function chunkSize(expectedBytes: number): number {
  return Math.min(Math.max(Math.ceil(expectedBytes), 1_024), 128 * 1_024)
}

/** Returns the size of the unpacked content that the header of a zstd frame declares (RFC 8878, 3.1.1.1), in bytes; undefined where there is none. */
function contentSize(frame: Buffer): number | undefined {
  if (frame.length < 18) return undefined
  const descriptor = frame[4] as number
  const isSingleSegment = (descriptor & 0x20) !== 0
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3] as number
  const at = 5 + (isSingleSegment ? 0 : 1) + dictionaryIdBytes
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment ? frame[at] : undefined
    case 1:
      return frame.readUInt16LE(at) + 256
    case 2:
      return frame.readUInt32LE(at)
    default:
      return Number(frame.readBigUInt64LE(at))
  }
}

/**
 * The dictionary: text that is frequent in Kubernetes objects and in our headers. With it a single entry compresses nearly as well as
 * a batch. Stored entries can only be unpacked with exactly this text: never change it, add a second one instead.
 */
export const DICTIONARY = Buffer.from(
  [
    `{"apiVersion":"v1","count":1,"eventTime":null,"firstTimestamp":"2026-01-01T00:00:00Z","involvedObject":{"apiVersion":"v1","fieldPath":"spec.containers{app}","kind":"Pod","name":"web","namespace":"default","resourceVersion":"1","uid":"00000000-0000-4000-8000-000000000000"},"kind":"Event","lastTimestamp":"2026-01-01T00:00:00Z","message":"Back-off restarting failed container","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},"reason":"BackOff","reportingComponent":"kubelet","reportingInstance":"node","source":{"component":"kubelet","host":"node"},"type":"Warning"}`,
    `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"generation":1,"annotations":{"deployment.kubernetes.io/revision":"1"}},"spec":{"replicas":1,"selector":{"matchLabels":{"app":""}},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":""}},"spec":{"containers":[]}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"unavailableReplicas":1,"conditions":[{"type":"Available","status":"True","lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable","message":"ReplicaSet has successfully progressed."}]}}`,
    `"spec":{"volumes":[{"name":"config","configMap":{"name":"","defaultMode":420}},{"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"app","image":"registry/app:1.0.0","args":["--"],"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"","value":""},{"name":"","valueFrom":{"secretKeyRef":{"name":"","key":""}}}],"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"initialDelaySeconds":10,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"readinessProbe":{"httpGet":{"path":"/ready","port":"http","scheme":"HTTP"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{"runAsNonRoot":true,"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}`,
    `"status":{"phase":"Running","conditions":[{"type":"PodReadyToStartContainers","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Initialized","status":"True"},{"type":"Ready","status":"False","reason":"ContainersNotReady","message":"containers with unready status: [app]"},{"type":"ContainersReady","status":"True"},{"type":"PodScheduled","status":"True"}],"hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.1"}],"podIP":"10.244.0.1","podIPs":[{"ip":"10.244.0.1"}],"startTime":"2026-01-01T00:00:00Z","containerStatuses":[{"name":"app","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"},"waiting":{"reason":"CrashLoopBackOff","message":"back-off 5m0s restarting failed container"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error","startedAt":"","finishedAt":"","containerID":"containerd://"}},"ready":true,"restartCount":0,"image":"","imageID":"sha256:","containerID":"containerd://","started":true}],"qosClass":"Burstable"}}`,
    `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","generateName":"web-","namespace":"default","uid":"","resourceVersion":"","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web","app.kubernetes.io/name":"","app.kubernetes.io/instance":"","app.kubernetes.io/version":"","app.kubernetes.io/component":"","app.kubernetes.io/part-of":"","app.kubernetes.io/managed-by":"Helm","helm.sh/chart":"","pod-template-hash":"","team":"","tier":""},"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"8080","checksum/config":""},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"","uid":"","controller":true,"blockOwnerDeletion":true}]}`,
    `{"sink":"","rule":"","event":{"id":"","type":"ADDED","cluster":"","apiVersion":"v1","kind":"Pod","path":"/api/v1/namespaces/default/pods/web","namespace":"default","name":"","uid":"","resourceVersion":"","time":"2026-01-01T00:00:00.000Z","synthesized":true,"event":{"type":"Warning","reason":"","message":"","count":1,"regarding":{"apiVersion":"v1","kind":"Pod","namespace":"","name":"","uid":""},"firstSeen":"","lastSeen":"","reportingComponent":"kubelet"}}}`,
    `{"sink":"","rule":"","event":{"id":"","type":"MODIFIED","cluster":"","apiVersion":"apps/v1","kind":"Deployment","path":"/apis/apps/v1/namespaces/default/deployments/web","namespace":"default","name":"","uid":"","resourceVersion":"","time":"2026-01-01T00:00:00.000Z"}}`,
    // A header and a pod in the API server's order of fields: the most frequent single entry.
    `{"sink":"","rule":"","event":{"id":"","type":"MODIFIED","cluster":"","apiVersion":"v1","kind":"Pod","path":"/api/v1/namespaces/default/pods/","namespace":"default","name":"","uid":"","resourceVersion":"","time":"2026-01-01T00:00:00.000Z"}}`,
    `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"","generateName":"","namespace":"","uid":"","resourceVersion":"","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app.kubernetes.io/name":"","app.kubernetes.io/version":"","pod-template-hash":""},"annotations":{"checksum/config":""},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"","uid":"","controller":true,"blockOwnerDeletion":true}]},"spec":{"volumes":[{"name":"kube-api-access-","projected":{"sources":[],"defaultMode":420}}],"containers":[{"name":"app","image":"registry.example.com/team/app:1.2.3","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}},{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}},{"name":"","value":""}],"resources":{"limits":{"memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"kube-api-access-","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/readyz","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10},"imagePullPolicy":"IfNotPresent"},{"name":"proxy","image":""}],"nodeName":"node-1.example.internal","restartPolicy":"Always","serviceAccountName":"","terminationGracePeriodSeconds":30},"status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"}],"hostIP":"192.168.0.1","podIP":"10.244.0.1","startTime":"2026-01-01T00:00:00Z","containerStatuses":[{"name":"app","ready":true,"started":true,"restartCount":0,"image":"registry.example.com/team/app:1.2.3","imageID":"registry.example.com/team/app@sha256:","containerID":"containerd://","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},"lastState":{}}]}}`,
  ].join('\n'),
)

// Below the dictionary: both are computed when this module loads.
const TIGHT = optionsOf(6)
const QUICK = optionsOf(1)
