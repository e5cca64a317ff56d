import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPDeployment;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A file of ticks and a statement in; for each line of standard input the seconds and the matches of one run out.
 *
 * All events are parsed before the first run. A run deploys the statement anew, sends every event from this one thread
 * and counts the rows that the statement gives.
 */
public final class EsperPeer {
    /** An event as Esper likes it best: a plain class with getters. */
    public static final class Tick {
        private final String sym;
        private final double price;
        private final long at;

        Tick(String sym, double price, long at) {
            this.sym = sym;
            this.price = price;
            this.at = at;
        }

        public String getSym() {
            return sym;
        }

        public double getPrice() {
            return price;
        }

        public long getAt() {
            return at;
        }
    }

    private static Tick[] parse(Path file) throws Exception {
        Map<String, String> names = new HashMap<>();
        List<Tick> ticks = new ArrayList<>();
        try (BufferedReader lines = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] fields = line.split(",");
                String sym = names.computeIfAbsent(fields[0], name -> name);
                ticks.add(new Tick(sym, Double.parseDouble(fields[1]), ticks.size()));
            }
        }
        return ticks.toArray(new Tick[0]);
    }

    /** Esper with all that costs time and that one thread does not need turned off. */
    private static Configuration configuration() {
        Configuration configuration = new Configuration();
        configuration.getCommon().addEventType(Tick.class);
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        configuration.getRuntime().getThreading().setListenerDispatchPreserveOrder(false);
        configuration.getRuntime().getThreading().setInsertIntoDispatchPreserveOrder(false);
        return configuration;
    }

    public static void main(String[] arguments) throws Exception {
        Tick[] ticks = parse(Path.of(arguments[0]));
        Configuration configuration = configuration();
        EPCompiled compiled =
                EPCompilerProvider.getCompiler().compile(arguments[1], new CompilerArguments(configuration));
        EPRuntime runtime = EPRuntimeProvider.getRuntime("peer", configuration);
        EPEventService service = runtime.getEventService();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        while (requests.readLine() != null) {
            long[] matches = {0};
            EPDeployment deployment = runtime.getDeploymentService().deploy(compiled);
            deployment.getStatements()[0].addListener((rows, removed, statement, source) -> matches[0] += rows.length);
            long start = System.nanoTime();
            for (Tick tick : ticks) {
                service.sendEventBean(tick, "Tick");
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            runtime.getDeploymentService().undeploy(deployment.getDeploymentId());
            System.out.println("answer " + seconds + " " + matches[0]);
        }
    }
}
