import type { Happening } from './bed.ts'

/** Slow and obvious: what is told of happenings that are in order, as `inShort` says it, each with its second. */
export type Model = (happenings: readonly Happening[], untilS: number) => string[]

const nameOf = ({ name = 'web' }: Happening) => name

/** Looks at all that was ever sent. */
export function throttleModel(everyS: number, burst: number): Model {
  return (happenings) => {
    const sent: { name: string; at: number }[] = []
    const held = new Map<string, number>()
    return happenings.flatMap((it) => {
      const name = nameOf(it)
      const recent = sent.filter((one) => one.name === name && it.at - one.at < everyS)
      if (recent.length >= burst) {
        held.set(name, (held.get(name) ?? 0) + 1)
        return []
      }
      sent.push({ name, at: it.at })
      const before = held.get(name) ?? 0
      held.delete(name)
      return [`${it.at} ${name}${before > 0 ? ` +${before}` : ''}`]
    })
  }
}

/** Looks at all that came since the last one told. */
export function afterModel(count: number, withinS: number): Model {
  return (happenings) => {
    const came = new Map<string, number[]>()
    return happenings.flatMap((it) => {
      const name = nameOf(it)
      const times = [...(came.get(name) ?? []), it.at]
      const recent = times.filter((at) => it.at - at < withinS)
      came.set(name, recent.length >= count ? [] : times)
      return recent.length >= count ? [`${it.at} ${name} +${count - 1}`] : []
    })
  }
}

/** Goes through all counts between. */
export function countModel(at: readonly number[], every: number | undefined): Model {
  return (happenings) => {
    const seen = new Map<string, number>()
    return happenings.flatMap((it) => {
      const { uid = '', count = 1 } = it
      const before = seen.get(uid) ?? 0
      seen.set(uid, count)
      let reached = false
      for (let n = count < before ? 1 : before + 1; n <= count; n++)
        if (at.includes(n) || (every !== undefined && n % every === 0)) reached = true
      return reached ? [`${it.at} ${nameOf(it)}`] : []
    })
  }
}

/** Lets each second pass, and looks at all that came. */
export function debounceModel(quietS: number, atMostS: number): Model {
  return (happenings, untilS) => {
    const sent: string[] = []
    for (const name of new Set(happenings.map(nameOf))) {
      let waiting: number[] = []
      for (let now = 0; now <= untilS; now++) {
        const [first = Infinity, last = Infinity] = [waiting[0], waiting.at(-1)]
        if (now >= first + atMostS || now >= last + quietS) {
          sent.push(`${now} ${name}${waiting.length > 1 ? ` +${waiting.length - 1}` : ''}`)
          waiting = []
        }
        for (const it of happenings) if (it.at === now && nameOf(it) === name) waiting.push(now)
      }
    }
    return sent
  }
}

/** Lets each second pass. */
export function groupModel(waitS: number, intervalS: number, max: number): Model {
  return (happenings, untilS) => {
    const told: string[] = []
    const groups = new Map<string, { names: string[]; due: number }>()
    const tell = (now: number, names: readonly string[]) =>
      void told.push(names.length === 1 ? `${now} ${names[0]}` : `${now} digest of ${names.length}`)
    for (let now = 0; now <= untilS; now++) {
      for (const [key, group] of groups) {
        if (group.due !== now) continue
        if (group.names.length === 0) groups.delete(key)
        else {
          tell(now, group.names)
          groups.set(key, { names: [], due: now + intervalS })
        }
      }
      for (const it of happenings.filter(({ at }) => at === now)) {
        const key = it.namespace ?? 'shop'
        const group = groups.get(key) ?? { names: [], due: now + waitS }
        group.names.push(nameOf(it))
        groups.set(key, group)
        if (group.names.length < max && group.due > now) continue
        tell(now, group.names)
        groups.set(key, { names: [], due: now + intervalS })
      }
    }
    return told
  }
}

/** Lets each second pass, and looks at each object. */
export function followModel(forS: number, resolves: boolean): Model {
  return (happenings, untilS) => {
    const told: string[] = []
    const objects = new Map<string, { since: number; told: boolean }>()
    for (let now = 0; now <= untilS; now++) {
      const lasted = [...objects].filter(
        ([, object]) => !object.told && object.since + forS === now && forS > 0,
      )
      for (const [name, object] of lasted) {
        told.push(`${now} ${name}`)
        object.told = true
      }
      for (const it of happenings.filter(({ at }) => at === now)) {
        const name = nameOf(it)
        const object = objects.get(name)
        const isDeleted = it.type === 'DELETED'
        if (isDeleted || it.holds === false) {
          if (object?.told && resolves) told.push(`${now} ${name} ${isDeleted ? 'deleted' : 'ended'}`)
          objects.delete(name)
        } else if (!object && it.entered !== false) {
          objects.set(name, { since: now, told: forS === 0 })
          if (forS === 0) told.push(`${now} ${name}`)
        }
      }
    }
    return told
  }
}

/** Lets each second pass. */
export function quietModel(afterS: number): Model {
  return (happenings, untilS) => {
    const told: string[] = []
    const last = new Map<string, number>()
    for (let now = 0; now <= untilS; now++) {
      for (const [name, at] of last) {
        if (at + afterS !== now) continue
        told.push(`${now} ${name} quiet`)
        last.delete(name)
      }
      for (const it of happenings.filter(({ at }) => at === now)) {
        told.push(`${now} ${nameOf(it)}`)
        last.set(nameOf(it), now)
      }
    }
    return told
  }
}

/** Lets each second pass: each incident has a throttle of its own. */
export function throttledIncidentModel(everyS: number, afterS: number): Model {
  return (happenings, untilS) => {
    const told: string[] = []
    const incidents = new Map<string, { last: number; sent: number; held: number }>()
    for (let now = 0; now <= untilS; now++) {
      for (const [name, { last }] of incidents) {
        if (last + afterS !== now) continue
        told.push(`${now} ${name} quiet`)
        incidents.delete(name)
      }
      for (const it of happenings.filter(({ at }) => at === now)) {
        const incident = incidents.get(nameOf(it))
        const isSent = !incident || now - incident.sent >= everyS
        if (isSent) told.push(`${now} ${nameOf(it)}${incident?.held ? ` +${incident.held}` : ''}`)
        const held = isSent ? 0 : incident.held + 1
        incidents.set(nameOf(it), { last: now, sent: isSent ? now : incident.sent, held })
      }
    }
    return told
  }
}

/** Lets each second pass: the counts of each incident begin at one. */
export function countedIncidentModel(
  at: readonly number[],
  every: number | undefined,
  afterS: number,
): Model {
  return (happenings, untilS) => {
    const sent: string[] = []
    const seen = new Map<string, { count: number; base: number; at: number; passed: boolean }>()
    const open = new Map<string, number>()
    for (let now = 0; now <= untilS; now++) {
      for (const [name, last] of open) {
        if (last + afterS !== now) continue
        sent.push(`${now} ${name} quiet`)
        open.delete(name)
      }
      for (const it of happenings.filter((one) => one.at === now)) {
        const { uid = '', count = 1 } = it
        let before = seen.get(uid) ?? { count: 0, base: 0, at: now, passed: false }
        if (count < before.count) before = { ...before, count: 0, base: 0, passed: false }
        if (before.passed && now - before.at >= afterS && !open.has(nameOf(it)))
          before = { ...before, base: before.count, passed: false }
        let reached = false
        for (let n = before.count + 1 - before.base; n <= count - before.base; n++)
          if (at.includes(n) || (every !== undefined && n % every === 0)) reached = true
        seen.set(uid, { ...before, count, at: now, passed: before.passed || reached })
        if (reached) sent.push(`${now} ${nameOf(it)}`)
        if (reached || open.has(nameOf(it))) open.set(nameOf(it), now)
      }
    }
    return sent
  }
}

/** Lets each second pass: of the objects whose state has lasted, some wait until one can be passed. */
export function throttledStateModel(forS: number, everyS: number, burst: number): Model {
  return (happenings, untilS) => {
    const sent: string[] = []
    const objects = new Map<string, { since: number; isSent: boolean }>()
    const passed: number[] = []
    let held = 0
    const sendLasting = (now: number) => {
      const lasted = [...objects].filter(([, { isSent, since }]) => !isSent && since + forS <= now)
      for (const [name, object] of lasted.toSorted(
        ([a, one], [b, two]) => one.since - two.since || (a < b ? -1 : 1),
      )) {
        if (passed.filter((at) => now - at < everyS).length >= burst) continue
        passed.push(now)
        object.isSent = true
        sent.push(`${now} ${name}${held > 0 ? ` +${held}` : ''}`)
        held = 0
      }
    }
    for (let now = 0; now <= untilS; now++) {
      sendLasting(now)
      for (const it of happenings.filter(({ at }) => at === now)) {
        const object = objects.get(nameOf(it))
        if (it.type === 'DELETED' || it.holds === false) {
          if (object && !object.isSent && object.since + forS <= now) held += 1
          objects.delete(nameOf(it))
        } else if (!object && it.entered !== false) objects.set(nameOf(it), { since: now, isSent: false })
        if (forS === 0) sendLasting(now)
      }
    }
    return sent
  }
}
