import { OWN_REPORT_RULE, type Resolved } from '../../model/delivery.ts'
import type { Field, Summary } from '../../sink/index.ts'
import { clock, RESOLVED } from '../../sink/message.ts'
import { objectTitle } from '../../text/object-title.ts'
import { cronJob, job } from './batch.ts'
import { changesOf, inStatus, isCurrent, isKnown, isNoise, wantedOf } from './changes.ts'
import { definition, namespace, node } from './cluster-kinds.ts'
import { claim, configMap, secret, volume } from './config-and-storage.ts'
import { summarizeDigest } from './digest.ts'
import { summarizeEvent } from './events.ts'
import { generic } from './generic.ts'
import { endpointSlice, gateway, ingress, service } from './network.ts'
import {
  clause,
  describe,
  duration,
  eventsAbout,
  finish,
  groupOf,
  listed,
  sentence,
  targetOf,
} from './phrasing.ts'
import { pod } from './pods.ts'
import {
  agoMs,
  at,
  type Draft,
  field,
  isEnding,
  isHeld,
  ownerOf,
  type Summarizer,
  type SummaryInput,
  text,
  texts,
  timeMs,
  writerOf,
} from './summarizer.ts'
import { scaler, workload } from './workloads.ts'

export type { SummaryInput } from './summarizer.ts'

/** Returns a summary in plain text for any kind of object. Pure; never throws, whatever the object contains. */
export function summarize({ event, object, rule = '', notice }: SummaryInput): Summary {
  const given = { event, object: object ?? {} }
  const input = isHeld(given) ? withoutReplaced(given) : given
  if (rule === OWN_REPORT_RULE) return summarizeOwnReport(input, notice)
  const summary = summarizeChange(input)
  if (notice?.kind === 'digest') return summarizeDigest(input, notice, summary)
  return notice?.kind === 'resolved' ? summarizeResolved(input, notice, summary, rule) : summary
}

/** Leaves out changes of the status with which a state that waited began and that later changes have replaced. */
function withoutReplaced(input: SummaryInput): SummaryInput {
  if (!isKnown(input)) return input
  const { event, object } = input
  const changes = changesOf(input).filter((it) => !inStatus(it) || isCurrent(object, it))
  return { event: { ...event, changes }, object }
}

/**
 * Returns the input for the summary of a state that waited: its status, at the time when it was emitted. The changes with which it
 * began are used if they concern the status, or if the desired state that they wrote is still in force and nothing is wrong.
 */
function asState(input: SummaryInput, summarizer: Summarizer): SummaryInput {
  const { event, object } = input
  const { heldAt: time, changes: _, ...rest } = event
  if (time === undefined) return input
  if (at(object, 'status') === undefined) return { event: { ...event, time }, object }
  const changes = changesOf(input)
  const header = { ...rest, type: 'MODIFIED', time, heldAt: time } as const
  const state = { event: header, object }
  const isOfStatus = changes.some((it) => inStatus(it) && !isNoise(it))
  const isInForce = wantedOf(input).some((it) => isCurrent(object, it))
  const isUsed = isOfStatus || (isInForce && !summarizer.trouble?.(state))
  return isUsed ? { event: { ...header, changes }, object } : state
}

function summarizeChange(input: SummaryInput): Summary {
  const { event } = input
  if (event.event) return summarizeEvent(input, event.event)
  const summarizer = summarizerOf(event)
  const state = asState(input, summarizer)
  const draft = draftOf(state, summarizer)
  const target = targetOf(input)
  const command =
    draft.command ??
    (event.type === 'DELETED' ? eventsAbout(target) : summarizer.command?.(state) || describe(target))
  const fields = [...(draft.fields ?? []), ...(summarizer.fields?.(state) ?? []), ...common(input)]
  const changes = changesOf(input)
  return finish(
    target,
    { ...draft, fields: important(fields) },
    summarizer.shown?.(changes) ?? changes,
    command,
  )
}

function draftOf(input: SummaryInput, summarizer: Summarizer): Draft {
  if (input.event.type === 'DELETED') return deleted(input, summarizer)
  if (input.event.type === 'ADDED') return created(input, summarizer)
  if (isEnding(input)) return summarizer.ending?.(input) ?? ending(input)
  return changed(input, summarizer)
}

/** A problem ends with the deletion of its object. */
function deleted(input: SummaryInput, summarizer: Summarizer): Draft {
  const trouble = summarizer.trouble?.(input)
  const last = trouble?.phrase.replace(/^(?: is|:)? /, '')
  return {
    severity: trouble ? 'resolved' : 'info',
    phrase: ' was deleted',
    text: last ? `Before that: ${last}.` : '',
  }
}

function created(input: SummaryInput, summarizer: Summarizer): Draft {
  const trouble = summarizer.trouble?.(input)
  if (trouble) return trouble
  const since = text(input.object, 'metadata', 'creationTimestamp')
  const earlier = (agoMs(input, since) ?? 0) > 60_000
  const fields = earlier ? [field('Created', since)] : []
  return { severity: 'info', phrase: ' was created', text: summarizer.created?.(input) ?? '', fields }
}

function ending({ object }: SummaryInput): Draft {
  const finalizers = texts(object, 'metadata', 'finalizers')
  const text = finalizers.length > 0 ? `It waits for ${listed(finalizers, 3)}.` : ''
  return { severity: 'info', phrase: ' is being deleted', text }
}

function changed(input: SummaryInput, summarizer: Summarizer): Draft {
  const wanted = wantedOf(input)
  const statusChanged = !isKnown(input) || changesOf(input).some((it) => inStatus(it) && !isNoise(it))
  return (
    (statusChanged ? summarizer.trouble?.(input) : undefined) ??
    (wanted.length > 0
      ? (summarizer.wanted?.(input, wanted) ?? generic.wanted?.(input, wanted))
      : undefined) ??
    summarizer.state?.(input) ??
    generic.state?.(input) ?? { severity: 'info', phrase: ' changed' }
  )
}

function common(input: SummaryInput) {
  return [
    field('Owner', ownerOf(input)),
    field('By', isWritten(input) ? writerOf(input) : ''),
    field('Noticed', input.event.synthesized ? 'by comparison after a gap' : ''),
  ]
}

/** Returns whether the desired state was written. Controllers write the status. */
function isWritten(input: SummaryInput): boolean {
  if (input.event.type !== 'MODIFIED') return input.event.type === 'ADDED'
  return isKnown(input) ? wantedOf(input).length > 0 : at(input.object, 'status') === undefined
}

/** General fields come before those of the kind; `Noticed` is always kept. */
function important(all: readonly Field[]): Field[] {
  const fields = all.filter((it) => it.value !== '')
  const first = ['Owner', 'Reason'].flatMap((title) => fields.find((it) => it.title === title) ?? [])
  const noticed = fields.filter((it) => it.title === 'Noticed')
  const rest = fields.filter((it) => !first.includes(it) && !noticed.includes(it))
  return [...first, ...rest].toSpliced(7, 0, ...noticed)
}

/**
 * Summarizes a resolve notification: what had begun, and why it is over. `now` is the summary of the change that ended the
 * incident, or of the last change.
 */
function summarizeResolved(input: SummaryInput, resolved: Resolved, now: Summary, rule: string): Summary {
  const { since, why } = resolved
  const { kind, namespace = '', name } = now.about
  const target = { apiVersion: text(input.event, 'apiVersion'), kind, namespace, name }
  const subject = objectTitle(target)
  const began = text(resolved, 'title') || (why === 'quiet' ? now.title : `${subject}: ${rule}`)
  const fields = [...now.fields.filter(({ title }) => LASTING.includes(title)), field('Began', clock(since))]
  return finish(
    target,
    {
      severity: 'resolved',
      phrase: '',
      title: `${RESOLVED}${began}`,
      text: [reasonOf(input, resolved, now, subject), lasted(input, resolved)]
        .filter((it) => it !== '')
        .join(' '),
      fields,
    },
    why === 'ended' ? now.changes : [],
    why === 'deleted' && !input.event.event ? eventsAbout(target) : now.command,
  )
}

/** Fields that remain valid after the incident. */
const LASTING = ['Owner', 'Reason', 'Container', 'Node', 'Noticed']

function reasonOf({ event }: SummaryInput, { at, why }: Resolved, now: Summary, subject: string): string {
  if (why === 'deleted') return `${subject} was deleted.`
  if (why === 'unwatched') return `${subject} is no longer watched.`
  if (why === 'ended') return sentence(now.title)
  const quiet = span(event.time, at)
  return quiet === '' ? 'No further event.' : `No further event for ${quiet}.`
}

/** Returns how long an incident lasted; '' for a single event, where the time without another one is the same. */
function lasted({ event }: SummaryInput, { since, at, why }: Resolved): string {
  const time = span(since, at)
  return time === '' || (why === 'quiet' && time === span(event.time, at)) ? '' : `Lasted ${time}.`
}

/** `12m`; '' when a time is missing. */
function span(from: string, to: string): string {
  const [fromMs, toMs] = [timeMs(from), timeMs(to)]
  return fromMs === undefined || toMs === undefined || toMs < fromMs ? '' : duration(toMs - fromMs)
}

/** Summarizers by group and kind. */
const SUMMARIZERS = new Map<string, Summarizer>([
  ['/Pod', pod],
  ['/Node', node],
  ['/Namespace', namespace],
  ['/ConfigMap', configMap],
  ['/Secret', secret],
  ['/Service', service],
  ['/PersistentVolumeClaim', claim],
  ['/PersistentVolume', volume],
  ['apps/Deployment', workload],
  ['apps/StatefulSet', workload],
  ['apps/DaemonSet', workload],
  ['apps/ReplicaSet', workload],
  ['batch/Job', job],
  ['batch/CronJob', cronJob],
  ['autoscaling/HorizontalPodAutoscaler', scaler],
  ['networking.k8s.io/Ingress', ingress],
  ['discovery.k8s.io/EndpointSlice', endpointSlice],
  ['gateway.networking.k8s.io/Gateway', gateway],
  ['apiextensions.k8s.io/CustomResourceDefinition', definition],
])

function summarizerOf({ apiVersion, kind }: { apiVersion: string; kind: string }): Summarizer {
  return SUMMARIZERS.get(`${groupOf(apiVersion)}/${kind}`) ?? generic
}

/** Summarizes a report of kubeherald about itself: its message is the title. */
function summarizeOwnReport({ event }: SummaryInput, notice: SummaryInput['notice']): Summary {
  const kubeEvent = event.event
  const [name, message] = [text(kubeEvent, 'regarding', 'name'), text(kubeEvent, 'message')]
  const isFailure = text(kubeEvent, 'type') === 'Warning'
  const report = clause(message, MAX_REPORT_TITLE)
  const title = `kubeherald: ${report.slice(0, 1).toLowerCase()}${report.slice(1)}`
  const severity = notice?.kind === 'resolved' ? 'resolved' : isFailure ? 'error' : 'info'
  return finish(
    { apiVersion: '', kind: 'Kubeherald', namespace: event.namespace ?? '', name },
    {
      severity,
      phrase: '',
      title,
      quote: message.length > MAX_REPORT_TITLE ? message : '',
      fields: [field('Reason', text(kubeEvent, 'reason'))],
    },
    [],
    isFailure ? 'kubeherald status' : '',
  )
}

const MAX_REPORT_TITLE = 160
