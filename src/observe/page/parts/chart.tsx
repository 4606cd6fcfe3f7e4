import { useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { clock, rate } from '../shown.ts'

/** Times in Unix seconds, and one list of values per line, as uPlot takes them. */
type Data = [number[], ...(number | null)[][]]

const HEIGHT = 180

/** Lines over time; `summary` has the same for readers who don't see it. */
export function Chart({ data, names, summary }: { data: Data; names: readonly string[]; summary: string }) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef(data)
  latest.current = data
  useLayoutEffect(() => {
    const node = box.current
    if (!node) return
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(node, names), latest.current, node)
    }
    draw()
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: node.clientWidth, height: HEIGHT }),
    )
    resized.observe(node)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    addEventListener('theme', draw)
    return () => {
      resized.disconnect()
      scheme.removeEventListener('change', draw)
      removeEventListener('theme', draw)
      plot.current?.destroy()
    }
  }, [names.join()])
  useLayoutEffect(() => plot.current?.setData(data), [data])
  return <div class="chart" ref={box} role="img" aria-label={summary} />
}

/** In seconds: fewer would be shown in fractions. */
const NARROWEST = 60

function optionsOf(node: HTMLElement, names: readonly string[]): uPlot.Options {
  const colour = coloursOf(node)
  const axis = {
    stroke: colour('--dim'),
    grid: { stroke: colour('--grid'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: node.clientWidth,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { range: (_, min, max) => [Math.min(min, max - NARROWEST), max] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((it) => clock(it * 1_000)) },
      { ...axis, size: 56, values: (_, ticks) => ticks.map(String) },
    ],
    series: [
      { label: 'at', value: (_, value) => (value === null ? 'now' : clock(value * 1_000)) },
      ...names.map((label, index) => ({
        label,
        stroke: colour(`--line-${index}`),
        width: 2,
        ...(index > 0 && { dash: [6, 4] }),
        points: { show: false },
        // Without a pointer: the newest.
        value: (plot: uPlot, value: number | null) => rate(value ?? plot.data[index + 1]?.at(-1) ?? 0),
      })),
    ],
  }
}

/** A canvas needs colours as they are computed: those of the style depend on the theme. */
function coloursOf(node: HTMLElement): (name: string) => string {
  return (name) => {
    node.style.color = `var(${name})`
    const { color } = getComputedStyle(node)
    node.style.color = ''
    return color
  }
}
