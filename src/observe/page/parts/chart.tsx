import { useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { rate } from '../shown.ts'

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
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: node.clientWidth, height: HEIGHT }))
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

function optionsOf(node: HTMLElement, names: readonly string[]): uPlot.Options {
  const style = getComputedStyle(node)
  const colour = (index: number) => style.getPropertyValue(`--line-${index}`)
  const axis = { stroke: style.getPropertyValue('color'), grid: { stroke: style.getPropertyValue('--grid') } }
  return {
    width: node.clientWidth,
    height: HEIGHT,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [{ ...axis }, { ...axis, size: 56, values: (_, ticks) => ticks.map((it) => String(it)) }],
    series: [
      {},
      ...names.map((label, index) => ({
        label,
        stroke: colour(index),
        width: 2,
        ...(index > 0 && { dash: [6, 4] }),
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : rate(value)),
      })),
    ],
  }
}
