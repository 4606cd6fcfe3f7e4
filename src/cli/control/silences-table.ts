import { matchText } from '../../rules/silences/silence-match.ts'
import type { ListedSilence } from '../../store/control/silences.ts'
import { relative } from '../../text/quantities.ts'
import { table } from '../output/format.ts'

export function silencesTable(silences: readonly ListedSilence[], nowMs: number): string {
  if (silences.length === 0) return 'no silences\n'
  const rows = silences.map((it) => [
    it.id,
    it.state === 'pending' ? `begins ${relative(it.fromMs, nowMs)}` : it.state,
    matchText(it.match),
    new Date(it.untilMs).toISOString(),
    it.by,
    it.untested ? `${it.suppressed}, ${it.untested} not tested` : String(it.suppressed),
    it.reason,
  ])
  return table([['SILENCE', 'STATE', 'MATCH', 'UNTIL', 'BY', 'SUPPRESSED', 'REASON'], ...rows])
}
