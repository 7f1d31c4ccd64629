import { useEffect, useRef } from 'preact/hooks';
import { FLAGS } from '../../api/fleet';
import type { Flag } from '../state/fleet-model';
import { useTheme } from '../state/theme';
import type { Measure } from './colours';
import { drawMarks, readPalette } from './heat-map';

const SIZE = 14;

/** The mark of a flag, as in cells. */
export function FlagMark({ flag }: { flag: Flag }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    element.width = SIZE * devicePixelRatio;
    element.height = SIZE * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const palette = readPalette(element);
    context.fillStyle = flag === 'down' ? palette.none : (palette.fill[8] as string);
    context.fillRect(0, 0, SIZE, SIZE);
    drawMarks(context, { x: 0, y: 0, size: SIZE }, FLAGS[flag], palette);
  }, [flag, theme]);
  return <canvas class="flag-mark" ref={canvas} aria-hidden="true" />;
}

/** The meaning of the colours. */
export function Scale({ measure }: { measure: Measure }) {
  return (
    <div class="scale">
      <span>{measure.ends[0]}</span>
      <span class={`ramp ramp-${measure.scale}`} aria-hidden="true" />
      <span>{measure.ends[1]}</span>
    </div>
  );
}
