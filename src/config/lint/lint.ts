import { lintExpression } from '../../rules/cel/lint.ts'
import { isEventKind } from '../../rules/kind.ts'
import { type CheckedRule, checkLimits } from '../../rules/limits/check-limits.ts'
import { LimitKeysShape } from '../../rules/limits/schema.ts'
import {
  expressionHint,
  isJoined,
  listHint,
  listOf,
  type Matched,
  type Patterns,
  parsePattern,
} from '../../rules/pattern.ts'
import { askedKeys } from '../../rules/selector.ts'
import { lintedPatterns } from '../../rules/when.ts'
import { nearest } from '../../text/closest-match.ts'
import { isMap } from '../../text/plain-data.ts'
import type { ConfigDocument, Path } from '../document.ts'
import type { Draft, RuleDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import { EVENT_REASONS } from './event-reasons.ts'
import { checkEventTemplates } from './event-templates.ts'
import { withSubject } from './fault-problems.ts'
import { checkLogs } from './logs.ts'
import { checkNeverMatches } from './never-matches.ts'
import { checkUnwatched, kindsReached } from './reach.ts'
import { checkDottedKeys, checkMisplacedPaths } from './rule-paths.ts'
import { checkArchive, checkNotify, checkRules, checkUnusedSinks } from './rules.ts'
import { checkTimezones } from './timezones.ts'
import { checkUnreachable } from './unreachable.ts'
import { checkWatch } from './watch.ts'
import { mayBeEvent } from './watched-kind.ts'

/** Checks one aspect of a configuration that its schema cannot express. */
type Lint = (draft: Draft, document: ConfigDocument) => Problem[]

const LINTS: readonly Lint[] = [
  checkWatch,
  checkRules,
  checkPatterns,
  checkNumbers,
  checkUnreachable,
  checkUnwatched,
  checkIfs,
  checkMisplacedPaths,
  checkDottedKeys,
  checkReasons,
  checkNeverMatches,
  checkLimitKeys,
  checkEventTemplates,
  checkTimezones,
  checkLogs,
  checkArchive,
  checkNotify,
  checkUnusedSinks,
]

/** Returns what no schema finds: names that must exist, conditions that cannot be read, parts that do not fit together. */
export function lint(draft: Draft, document: ConfigDocument): Problem[] {
  return LINTS.flatMap((check) => check(draft, document))
}

/** Patterns that were likely intended as lists, as regular expressions or without their quotes. */
function checkPatterns({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap((rule) =>
    patternsOf(rule, document).flatMap(({ path, text, lint }) => {
      const parsed = parsePattern(text)
      if (!parsed.ok) return []
      const warn = (
        code: 'list-as-text' | 'regex-as-glob' | 'typographic-quotes',
        message: string,
        hint: string,
      ) => document.problem(code, path, message, { hint, severity: 'warning' })
      const [, bang, quoted] = /^(!?)[“”„‘’‚](.+)[“”‘’]$/.exec(text) ?? []
      if (quoted !== undefined)
        return [
          warn(
            'typographic-quotes',
            `the quotes of ${text} are not those of YAML: they are a part of the text`,
            `write "${bang}${quoted}"`,
          ),
        ]
      const hint = expressionHint(text, lint)
      const form = parsed.value.form === 'glob' ? 'a glob' : 'exact text'
      if (hint !== undefined)
        return [warn('regex-as-glob', `"${text}" looks like an expression, but is ${form}`, hint)]
      if (lint === 'message' || !isJoined(parsed.value)) return []
      return [warn('list-as-text', `"${text}" is one text, and its value has no commas`, listHint(text))]
    }),
  )
}

interface WrittenPattern {
  path: Path
  text: string
  lint: Matched
}

/** Returns the patterns of a rule without references; kinds and namespaces have checks of their own. */
function patternsOf({ index, sound }: RuleDraft, document: ConfigDocument): WrittenPattern[] {
  return lintedPatterns(sound)
    .flatMap(({ path, patterns, lint }) =>
      patternsAt(['rules', index, 'when', ...path], patterns).map((it) => ({ ...it, lint })),
    )
    .filter((it) => document.at(it.path)?.written === undefined)
}

function patternsAt(path: Path, patterns: Patterns = []): Omit<WrittenPattern, 'lint'>[] {
  if (typeof patterns === 'string') return [{ path, text: patterns }]
  return patterns.map((text, index) => ({ path: [...path, index], text }))
}

/** Numbers as patterns of states whose text is not the one that is written: YAML reads 1.10 as 1.1, and 007 as 7. */
function checkNumbers({ rules }: Draft, document: ConfigDocument): Problem[] {
  const keys = rules.flatMap(({ index }) => ['from', 'to-state'].map((key): Path => ['rules', index, key]))
  return keys.flatMap((path) =>
    [...(document.at(path)?.entries ?? [])].flatMap(([field, { value: state }]) =>
      (state.items ?? [state]).flatMap(({ value, source }, at) => {
        if (typeof value !== 'number' || source === undefined || source === String(value)) return []
        const place = [...path, field, ...(state.items ? [at] : [])]
        const message = `YAML reads ${source} as the number ${value}, which is compared as "${value}"`
        // A field of numbers is read with the same loss, and equals no such text.
        const isTooLarge = Number.isInteger(value) && !Number.isSafeInteger(value)
        const hint = isTooLarge ? {} : { hint: `as text it needs quotes: "${source}"` }
        return [document.problem('number-as-text', place, message, { ...hint, severity: 'warning' })]
      }),
    ),
  )
}

/** Comparisons in an `if` that never hold, and fields that not every object has. */
function checkIfs({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap((rule) => {
    if (rule.if === undefined) return []
    const { labels, annotations, namespaceLabels, regarding } = rule.sound
    const context = {
      matchesAdded: matchesAdded(rule),
      matchesErrors: rule.onError === 'deliver',
      requiredKeys: {
        'object.metadata.labels': askedKeys(labels),
        'object.metadata.annotations': askedKeys(annotations),
        'event.namespaceLabels': askedKeys(namespaceLabels),
        'event.regarding.labels': askedKeys(regarding?.labels),
      },
    }
    return lintExpression(rule.if, context).map(({ code, path, message, ...placing }) =>
      document.problem(code, ['rules', rule.index, ...path], message, { ...placing, severity: 'warning' }),
    )
  })
}

/** A rule that compares with the previous object matches no new one. */
function matchesAdded({ when, changed, from, onError }: RuleDraft): boolean {
  if (changed || from || onError === 'deliver') return false
  const types = when.type === undefined ? [] : listOf(when.type)
  if (types.includes('!ADDED')) return false
  const changes = types.filter((it) => ['ADDED', 'MODIFIED', 'DELETED'].includes(it))
  return changes.length === 0 || changes.includes('ADDED')
}

const OF_PODS = 'it is in the status of the Pod: include: [kubeherald:crash-loops] has a rule for it'

/**
 * Reasons of containers' states, for which the kubelet emits no Event (pkg/kubelet/events/event.go,
 * pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go), and what to match instead.
 */
const OF_CONTAINERS: Readonly<Record<string, string>> = {
  CrashLoopBackOff: 'write BackOff, with message: "Back-off restarting failed container*"',
  ImagePullBackOff: 'write BackOff, with message: "Back-off pulling image*"',
  ErrImagePull: 'write Failed, with message: "*ErrImagePull*"',
  CreateContainerConfigError: 'write Failed, with message: "*CreateContainerConfigError*"',
  OOMKilled: OF_PODS,
  ContainerCreating: OF_PODS,
}

const KNOWN_REASONS = new Set(Object.values(EVENT_REASONS).flat())

/** Reasons that no Event has: states of containers, and misspelt ones of Kubernetes. Other controllers have reasons of their own. */
function checkReasons({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap(({ index, sound: { reason } }) =>
    patternsAt(['rules', index, 'when', 'reason'], reason).flatMap(({ path, text }) => {
      if (KNOWN_REASONS.has(text) || document.at(path)?.written !== undefined) return []
      const warn = (message: string, hint: string | undefined) => [
        document.problem('unknown-reason', path, message, { hint, severity: 'warning' }),
      ]
      if (Object.hasOwn(OF_CONTAINERS, text))
        return warn(
          `${text} is a state of containers; Kubernetes has no Event with this reason`,
          OF_CONTAINERS[text],
        )
      const near = isWord(text) ? nearest(text, KNOWN_REASONS, 1) : undefined
      if (near === undefined) return []
      const hint = `did you mean "${near}"? If another controller has this reason, write /^${text}$/`
      return warn(`Kubernetes has no Event with the reason "${text}"`, hint)
    }),
  )
}

function isWord(text: string): boolean {
  return /^[A-Za-z]{5,}$/.test(text)
}

/** Limits that do not go together, or not with what the rule matches. */
function checkLimitKeys(draft: Draft, document: ConfigDocument): Problem[] {
  return draft.rules.flatMap((rule) => {
    const path = ['rules', rule.index]
    const written = document.at(path)?.value
    if (!isMap(written)) return []
    const kinds = kindsReached(rule, draft) ?? []
    // Undefined when the rule matches nothing, which is reported elsewhere.
    const matched =
      kinds.length === 0
        ? undefined
        : {
            events: kinds.some((kind) => kind.builtIn.length > 0 && mayBeEvent(kind)),
            others: kinds.some(({ builtIn }) => builtIn.length === 0 || !builtIn.every(isEventKind)),
          }
    const limits = { ...written, ...validLimits(written), drop: rule.drop, when: rule.sound }
    return checkLimits(limits, matched).map(({ path: rest, message, ...placing }) => {
      const full = [...path, ...rest]
      const place = document.at(full) ? full : path
      return document.problem('conflicting-limits', place, withSubject(message, full), placing)
    })
  })
}

/** The schema reports the limits that are not valid. */
function validLimits(written: Readonly<Record<string, unknown>>): CheckedRule {
  const { condition } = written
  const found: Record<string, unknown> = { condition }
  if (isMap(condition))
    found['condition'] = { ...condition, for: LimitKeysShape.for.safeParse(condition['for']).data }
  for (const [key, schema] of Object.entries(LimitKeysShape)) found[key] = schema.safeParse(written[key]).data
  return found as CheckedRule
}
