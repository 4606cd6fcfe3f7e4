import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { ScannedObject, Transition } from '../../model/change.ts'
import { chunkSize, compress, decompress, MAX_UNPACKED_BYTES, ZSTD_DICTIONARY_1 } from '../packing.ts'

/** Larger objects are not stored: messages about their changes have no old values. */
const MAX_PACKED_BYTES = 256 * 1024
/** Objects up to this size are stored also where there is no room for large ones. */
const MAX_SMALL_BYTES = 16 * 1024

/** A removed watch leaves its previous objects in Redis; each commit of a configured one resets this time. */
export const PREVIOUS_TTL_MS = 7 * 86_400_000

/** Returns the stored form of an object: trimmed JSON with hashed Secret values. */
export type PreviousJson = (object: ScannedObject) => Buffer

/** The last stored version of an object. */
interface StoredVersion {
  resourceVersion: string
  /** Returns undefined if it cannot be read: a commit must not fail for that. */
  json(): Buffer | undefined
}

/**
 * The previous objects of one commit: those that were read, and those that its changes added. One is valid only at the version that
 * the index has: an object from before another process wrote the index alone is not the state before a change.
 */
export class PreviousObjects {
  readonly #jsonOf: PreviousJson
  readonly #versions = new Map<string, StoredVersion>()
  readonly #touched = new Set<string>()

  constructor(jsonOf: PreviousJson) {
    this.#jsonOf = jsonOf
  }

  read(uids: readonly string[], values: readonly (Buffer | null)[]): void {
    for (const [i, uid] of uids.entries()) {
      const packed = values[i] ? unpackObject(values[i], uid) : undefined
      if (packed) this.#versions.set(uid, { ...packed, json: onceOrNot(packed.json) })
    }
  }

  /** Returns the object at this version; undefined if another version is stored. */
  at(uid: string, resourceVersion: string): Transition['old'] {
    const version = this.#versions.get(uid)
    return version?.resourceVersion === resourceVersion ? version.json : undefined
  }

  /**
   * Stores an unchanged object, unless it is stored already. Only where it may be of another version of its API, in which it is not
   * comparable, is it unpacked to see that.
   */
  keep(object: ScannedObject, otherVersion: boolean): void {
    const stored = this.at(object.uid, object.resourceVersion)
    if (!stored || (otherVersion && apiVersionIn(stored()) !== apiVersionIn(object.bytes))) this.put(object)
  }

  put(object: ScannedObject): void {
    const { uid, resourceVersion } = object
    this.#touched.add(uid)
    this.#versions.set(uid, { resourceVersion, json: onceOrNot(() => this.#jsonOf(object)) })
  }

  delete(uid: string): void {
    this.#touched.add(uid)
    this.#versions.delete(uid)
  }

  /** Returns the writes (uid, value, uid, value, …) and the deletions; large objects only if there is room. */
  plan(hasRoom = true): { previousSet: (string | Buffer)[]; previousDelete: string[] } {
    const previousSet: (string | Buffer)[] = []
    const previousDelete: string[] = []
    for (const uid of this.#touched) {
      const version = this.#versions.get(uid)
      const packed = version && packVersion(uid, version, hasRoom)
      if (packed) previousSet.push(uid, packed)
      else previousDelete.push(uid)
    }
    return { previousSet, previousDelete }
  }
}

/** It is at the front of an object, before its metadata. */
function apiVersionIn(json: Buffer | undefined): string | undefined {
  return json && /"apiVersion":\s*"([^"]*)"/.exec(json.toString('latin1', 0, 512))?.[1]
}

/** Returns undefined if the object is too large. */
function packVersion(
  uid: string,
  { resourceVersion, json }: StoredVersion,
  hasRoom: boolean,
): Buffer | undefined {
  const raw = json()
  if (raw && !hasRoom && raw.length > MAX_SMALL_BYTES) return undefined
  const packed = raw && packObject(uid, resourceVersion, raw)
  return packed && packed.length <= MAX_PACKED_BYTES ? packed : undefined
}

/** Calls `make` on first use; returns undefined instead of an error. */
function onceOrNot(make: () => Buffer): () => Buffer | undefined {
  let made: { json: Buffer | undefined } | undefined
  return () => {
    made ??= { json: attempt(make) }
    return made.json
  }
}

function attempt(make: () => Buffer): Buffer | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

/** First byte of an object without its hexadecimal digits, packed with the dictionary of objects. */
const ZSTD_OBJECT_2 = 2
const MAX_VERSION_BYTES = 127
/** Bit of the length: set if a number follows, not a text. */
const NUMERIC = 0x80
/** The magic number of zstd frames. */
const MAGIC = Buffer.of(0x28, 0xb5, 0x2f, 0xfd)
/** Larger objects are compressed at a faster level. */
const TIGHT_BYTES = 16 * 1024

/** A packed object, with what can be read without unpacking it. */
interface PackedObject {
  resourceVersion: string
  /** Throws when it cannot be unpacked. */
  json(): Buffer
}

/** Returns an object's JSON as stored: format, version, digits with their length, compressed text. */
export function packObject(uid: string, resourceVersion: string, json: Buffer): Buffer | undefined {
  const version = versionBytes(resourceVersion)
  if (!version) return undefined
  const split = splitText(json, uid, resourceVersion)
  if (!split)
    return Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), textVersion(resourceVersion), compress(json)])
  const { text, digits } = split
  const level = text.length <= TIGHT_BYTES ? 6 : 1
  const params = {
    [constants.ZSTD_c_compressionLevel]: level,
    [constants.ZSTD_c_contentSizeFlag]: 0,
    [constants.ZSTD_c_dictIDFlag]: 0,
  }
  const options = { params, dictionary: OBJECT_DICTIONARY, chunkSize: chunkSize(text.length / 4) }
  const packed = zstdCompressSync(text, options).subarray(MAGIC.length)
  return Buffer.concat([Buffer.of(ZSTD_OBJECT_2), version, lengthBytes(digits.length), digits, packed])
}

/** Returns undefined for another format, or if the value is truncated before its version. */
export function unpackObject(value: Buffer, uid: string): PackedObject | undefined {
  const [format, first = 0] = value
  const end = 2 + (first & 0x7f)
  if (format === ZSTD_DICTIONARY_1) {
    const after = 2 + first
    return {
      resourceVersion: value.toString('utf8', 2, after),
      json: () => decompress(value.subarray(after)),
    }
  }
  if (format !== ZSTD_OBJECT_2 || value.length < end || first === NUMERIC) return undefined
  const resourceVersion =
    first & NUMERIC ? BigInt(`0x${value.toString('hex', 2, end)}`).toString() : value.toString('utf8', 2, end)
  return { resourceVersion, json: () => unpackText(value.subarray(end), uid, resourceVersion) }
}

function unpackText(value: Buffer, uid: string, resourceVersion: string): Buffer {
  const [first = 0, second = 0, third = 0] = value
  const size = first < 0xff ? 1 : 3
  const start = size + (size === 1 ? first : second * 256 + third)
  const packed = Buffer.concat([MAGIC, value.subarray(start)])
  const text = zstdDecompressSync(packed, {
    dictionary: OBJECT_DICTIONARY,
    chunkSize: chunkSize(packed.length * 12),
    maxOutputLength: MAX_UNPACKED_BYTES,
  })
  return joinText({ text, digits: value.subarray(size, start) }, uid, resourceVersion)
}

/** Encodes a resourceVersion; undefined if it is too long to be stored. */
function versionBytes(version: string): Buffer | undefined {
  if (!/^[1-9]\d{0,18}$/.test(version))
    return Buffer.byteLength(version) > MAX_VERSION_BYTES ? undefined : textVersion(version)
  const hex = BigInt(version).toString(16)
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
  return Buffer.concat([Buffer.of(NUMERIC | bytes.length), bytes])
}

function textVersion(version: string): Buffer {
  const bytes = Buffer.from(version)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

/** One byte, or three. */
function lengthBytes(length: number): Buffer {
  return length < 0xff ? Buffer.of(length) : Buffer.of(0xff, length >> 8, length & 0xff)
}

/**
 * The header of the zstd dictionary, with entropy tables that zstd's dictionary builder (`ZDICT_finalizeDictionary`) computed
 * from pods: a small object then needs no tables of its own.
 */
const TABLES = Buffer.from(
  'N6Qw7GhrAAAjENhBQXMMwzAMg6vu1UzW9jlAV4sPFtqjEimllDKllERmcBdzAQAAAIqHIrPI1MMABIDBAcEGAgIMBwMRgAULCwoKjAUECMBAAAAoFAcCAAAAUACAgQUiiTkxKAAA5LKIw3C+iAAAAAAJgCAAAAAAAAABAAAABAAAAAgAAAA=',
  'base64',
)

/**
 * The content of the dictionary: text that is frequent in objects after `splitText`. Stored values can only be unpacked with
 * exactly these bytes: never change them, add another dictionary instead.
 */
const TEXT = Buffer.from(
  [
    `{"kind":"Node","apiVersion":"v1","metadata":{"name":"","uid":"\x01",\x02,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"beta.kubernetes.io/arch":"amd64","beta.kubernetes.io/os":"linux","kubernetes.io/arch":"amd64","kubernetes.io/hostname":"","kubernetes.io/os":"linux","node.kubernetes.io/instance-type":"","topology.kubernetes.io/region":"","topology.kubernetes.io/zone":""},"annotations":{"node.alpha.kubernetes.io/ttl":"0","volumes.kubernetes.io/controller-managed-attach-detach":"true"}},"spec":{"podCIDR":"10.244.0.0/24","podCIDRs":["10.244.0.0/24"],"providerID":"","taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoSchedule"}]},"status":{"capacity":{"cpu":"4","ephemeral-storage":"Ki","hugepages-1Gi":"0","hugepages-2Mi":"0","memory":"Ki","pods":"110"},"allocatable":{"cpu":"4","memory":"Ki","pods":"110"},"conditions":[{"type":"MemoryPressure","status":"False","lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"KubeletHasSufficientMemory","message":"kubelet has sufficient memory available"},{"type":"DiskPressure","status":"False","reason":"KubeletHasNoDiskPressure","message":"kubelet has no disk pressure"},{"type":"PIDPressure","status":"False","reason":"KubeletHasSufficientPID","message":"kubelet has sufficient PID available"},{"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status"}],"addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":""}],"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}},"nodeInfo":{"machineID":"","systemUUID":"\x03","bootID":"\x03","kernelVersion":"","osImage":"","containerRuntimeVersion":"containerd://","kubeletVersion":"v1.","kubeProxyVersion":"v1.","operatingSystem":"linux","architecture":"amd64"},"images":[{"names":["registry@sha256:\x04","registry:"],"sizeBytes":`,
    `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"generation":1,"annotations":{"deployment.kubernetes.io/revision":"1"}},"spec":{"replicas":1,"selector":{"matchLabels":{"app":""}},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":""}},"spec":{"containers":[]}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"unavailableReplicas":1,"conditions":[{"type":"Available","status":"True","lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable","message":"ReplicaSet has successfully progressed."}]}}`,
    `"spec":{"volumes":[{"name":"config","configMap":{"name":"","defaultMode":420}},{"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"app","image":"registry/app:1.0.0","args":["--"],"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"","value":""},{"name":"","valueFrom":{"secretKeyRef":{"name":"","key":""}}}],"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"initialDelaySeconds":10,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"readinessProbe":{"httpGet":{"path":"/ready","port":"http","scheme":"HTTP"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{"runAsNonRoot":true,"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}`,
    `"status":{"phase":"Running","conditions":[{"type":"PodReadyToStartContainers","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Initialized","status":"True"},{"type":"Ready","status":"False","reason":"ContainersNotReady","message":"containers with unready status: [app]"},{"type":"ContainersReady","status":"True"},{"type":"PodScheduled","status":"True"}],"hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.1"}],"podIP":"10.244.0.1","podIPs":[{"ip":"10.244.0.1"}],"startTime":"2026-01-01T00:00:00Z","containerStatuses":[{"name":"app","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"},"waiting":{"reason":"CrashLoopBackOff","message":"back-off 5m0s restarting failed container"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error","startedAt":"","finishedAt":"","containerID":"containerd://"}},"ready":true,"restartCount":0,"image":"","imageID":"sha256:","containerID":"containerd://","started":true}],"qosClass":"Burstable"}}`,
    `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","generateName":"web-","namespace":"default","uid":"","resourceVersion":"","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web","app.kubernetes.io/name":"","app.kubernetes.io/instance":"","app.kubernetes.io/version":"","app.kubernetes.io/component":"","app.kubernetes.io/part-of":"","app.kubernetes.io/managed-by":"Helm","helm.sh/chart":"","pod-template-hash":"","team":"","tier":""},"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"8080","checksum/config":""},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"","uid":"","controller":true,"blockOwnerDeletion":true}]}`,
    `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"app-","generateName":"app-","namespace":"team-","uid":"\x01",\x02,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app.kubernetes.io/name":"app","app.kubernetes.io/version":"1.2.3","pod-template-hash":"","team":"team-"},"annotations":{"checksum/config":"\x04"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app-","uid":"\x03","controller":true,"blockOwnerDeletion":true}]},"spec":{"containers":[{"name":"app","image":"registry.example.com/team/app:1.2.3","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}},{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}},{"name":"_URL","value":"\x05\x0c"},{"name":"_URL","value":"\x05\x0c"},{"name":"","value":"\x05\x0c"}],"resources":{"limits":{"memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/readyz","port":"http","scheme":"HTTP"},"periodSeconds":10},"imagePullPolicy":"IfNotPresent"},{"name":"proxy","image":"registry.example.com/team/proxy:1.2.3","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}},{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}},{"name":"_URL","value":"\x05\x0c"},{"name":"_URL","value":"\x05\x0c"},{"name":"","value":"\x05\x0c"}],"resources":{"limits":{"memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/readyz","port":"http","scheme":"HTTP"},"periodSeconds":10},"imagePullPolicy":"IfNotPresent"}],"nodeName":"node-1.example.internal","restartPolicy":"Always","serviceAccountName":"app","terminationGracePeriodSeconds":30,"volumes":[{"name":"kube-api-access","projected":{"defaultMode":420,"sources":[]}}]},"status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"}],"hostIP":"192.168.0.1","podIP":"10.244.0.1","startTime":"2026-01-01T00:00:00Z","containerStatuses":[{"name":"app","ready":true,"started":true,"restartCount":0,"image":"registry.example.com/team/app:1.2.3","imageID":"registry.example.com@sha256:\x04","containerID":"containerd://\x04","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},"lastState":{}},{"name":"proxy","ready":true,"started":true,"restartCount":0,"image":"registry.example.com/team/proxy:1.2.3","imageID":"registry.example.com@sha256:\x04","containerID":"containerd://\x04","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},"lastState":{}}]}}`,
  ].join('\n'),
  'latin1',
)

export const OBJECT_DICTIONARY = Buffer.concat([TABLES, TEXT])

/** An object's JSON without incompressible parts: runs of hexadecimal digits, as in digests and ids. */
interface SplitText {
  text: Buffer
  /** The removed digits, two per byte, in order. */
  digits: Buffer
}

/** Control characters mark the removed parts, because JSON contains none. */
const UID = '\x01'
const VERSION = '\x02'
const UUID = '\x03'
const DIGEST = '\x04'
const RUN = '\x05'
const AGAIN = '\x06'

const RUNS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,254}/g
const CONTROLS = /[\x01-\x08]/
const FIRST_CODE = 0x20
const MAX_CODES = 90
/** In bytes. */
const MAX_DIGITS = 0xffff
/** Splitting a larger object takes tens of milliseconds, and ids are a small part of it. */
const MAX_SPLIT_BYTES = 262_144

/** Removes runs of hexadecimal digits, and the uid and version, which are stored separately; undefined if it cannot be split. */
function splitText(json: Buffer, uid: string, version: string): SplitText | undefined {
  if (json.length > MAX_SPLIT_BYTES) return undefined
  const whole = json.toString('latin1')
  if (CONTROLS.test(whole)) return undefined
  const parts: Buffer[] = []
  const places = new Map<string, number>()
  const named = withoutIds(whole, uid, version)
  const text = named.replace(RUNS, (found) => {
    const isUuid = found[8] === '-'
    const run = isUuid ? found : found.slice(0, found.length - (found.length % 2))
    const rest = found.slice(run.length)
    const place = places.get(run)
    if (place !== undefined) return AGAIN + String.fromCharCode(FIRST_CODE + place) + rest
    if (places.size < MAX_CODES) places.set(run, places.size)
    parts.push(Buffer.from(isUuid ? run.replaceAll('-', '') : run, 'hex'))
    if (isUuid) return UUID
    return (run.length === 64 ? DIGEST : RUN + String.fromCharCode(run.length / 2)) + rest
  })
  const digits = Buffer.concat(parts)
  return digits.length > MAX_DIGITS ? undefined : { text: Buffer.from(text, 'latin1'), digits }
}

/** Undoes `splitText`. */
function joinText({ text, digits }: SplitText, uid: string, version: string): Buffer {
  const runs: string[] = []
  let at = 0
  const take = (bytes: number) => {
    at += bytes
    return digits.toString('hex', at - bytes, at)
  }
  const keep = (run: string) => {
    if (runs.length < MAX_CODES) runs.push(run)
    return run
  }
  const whole = text.toString('latin1').replace(/[\x01-\x04]|[\x05\x06]./gs, (mark) => {
    const kind = mark[0]
    if (kind === UID) return uid
    if (kind === VERSION) return `"resourceVersion":"${version}"`
    if (kind === AGAIN) return runs[mark.charCodeAt(1) - FIRST_CODE] ?? ''
    const run = take(kind === UUID ? 16 : kind === DIGEST ? 32 : mark.charCodeAt(1))
    return keep(kind === UUID ? run.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : run)
  })
  return Buffer.from(whole, 'latin1')
}

function withoutIds(whole: string, uid: string, version: string): string {
  const text = uid.length >= 16 && !/[\\"]/.test(uid) ? whole.replaceAll(uid, UID) : whole
  return text.replace(`"resourceVersion":"${version}"`, VERSION)
}
