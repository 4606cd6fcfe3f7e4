import { computed, signal } from '@preact/signals'
import type { Access, Overview } from './contract.ts'
import type { RequestError } from './request.ts'

/** Who reads this page, and what they may do; undefined before the first answer. */
export const access = signal<Access | undefined>(undefined)
/** The newest state of all processes; undefined where the token may not see it. */
export const overview = signal<Overview | undefined>(undefined)
/** Why `overview` is older than it should be, or is missing. */
export const overviewError = signal<RequestError | undefined>(undefined)

/** Whether buttons that change something work. */
export const mayAct = computed(() => (access.value?.role ?? overview.value?.access) === 'act')
/** Since when the history goes back. */
export const historyFromMs = computed(() => access.value?.historyFromMs ?? overview.value?.historyFromMs)

/** Something that was done, or failed; shown for a while. */
export const notice = signal<{ text: string; isError: boolean } | undefined>(undefined)

let timer: ReturnType<typeof setTimeout> | undefined

export function announce(text: string, isError = false): void {
  clearTimeout(timer)
  notice.value = { text, isError }
  timer = setTimeout(() => {
    notice.value = undefined
  }, 8_000)
}
