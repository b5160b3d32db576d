"""Graph networks: nodes of the karate club, small graphs in batches, a layer of one's own, kinds of nodes."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import KarateClub
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATv2Conv,
    GCNConv,
    GINConv,
    HeteroConv,
    MessagePassing,
    SAGEConv,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
    to_hetero,
)
from torch_geometric.transforms import NormalizeFeatures, ToUndirected
from torch_geometric.utils import add_self_loops, degree, softmax, to_dense_adj, to_dense_batch


class Nodes(torch.nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.one = GCNConv(inputs, 16)
        self.two = GATv2Conv(16, 8, heads=2)
        self.three = TransformerConv(16, classes, beta=True)

    def forward(self, x, edge_index):
        x = F.elu(self.one(x, edge_index))
        x = F.elu(self.two(x, edge_index))
        return self.three(x, edge_index)


class Attention(MessagePassing):
    """Messages weighted by a softmax over each node's neighbours."""

    def __init__(self, inputs, outputs):
        super().__init__(aggr="add", node_dim=0)
        self.lin = torch.nn.Linear(inputs, outputs)
        self.att = torch.nn.Linear(2 * outputs + 1, 1)

    def forward(self, x, edge_index, edge_attr):
        edge_index, edge_attr = add_self_loops(edge_index, edge_attr, fill_value="mean", num_nodes=x.size(0))
        norm = degree(edge_index[1], x.size(0), dtype=x.dtype).clamp(min=1).rsqrt()
        return self.propagate(edge_index, x=self.lin(x), edge_attr=edge_attr, norm=norm)

    def message(self, x_i, x_j, edge_attr, norm_j, index, size_i):
        alpha = self.att(torch.cat([x_i, x_j, edge_attr], -1)).tanh()
        return softmax(alpha, index, num_nodes=size_i) * x_j * norm_j.view(-1, 1)


class Graphs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        mlp = torch.nn.Sequential(
            torch.nn.Linear(4, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 16)
        )
        self.gin = GINConv(mlp, train_eps=True)
        self.own = Attention(16, 16)
        self.sage = SAGEConv(16, 16, aggr=["mean", "max", "std"])
        self.head = torch.nn.Linear(48, 2)

    def forward(self, data):
        x = self.gin(data.x, data.edge_index).relu()
        x = self.own(x, data.edge_index, data.edge_attr).relu()
        x = self.sage(x, data.edge_index).relu()
        pooled = [pool(x, data.batch) for pool in (global_add_pool, global_mean_pool, global_max_pool)]
        return self.head(torch.cat(pooled, -1))


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = SAGEConv((-1, -1), 8)
        self.two = SAGEConv((-1, -1), 2)

    def forward(self, x, edge_index):
        return self.two(self.one(x, edge_index).relu(), edge_index)


def train(model, step, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = step()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(device):
    torch.manual_seed(0)
    club = KarateClub()[0]
    model = Nodes(club.num_features, int(club.y.max()) + 1).to(device)
    data = club.to(device)
    nodes = train(
        model,
        lambda: F.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask]),
        8,
    )
    dense = to_dense_adj(data.edge_index)[0].sum(0)

    many = []
    for size in range(5, 17):
        edge_index = torch.randint(0, size, (2, 3 * size))
        graph = Data(
            x=torch.rand(size, 4),
            edge_index=edge_index,
            edge_attr=torch.rand(3 * size, 1),
            y=torch.tensor([size % 2]),
        )
        many.append(NormalizeFeatures()(ToUndirected()(graph)))
    loader = DataLoader(many, batch_size=4, shuffle=False)
    graphs = Graphs().to(device)
    batches = [batch.to(device) for batch in loader]
    turns = iter(batches * 3)

    def next_batch():
        batch = next(turns)
        return F.cross_entropy(graphs(batch), batch.y)

    batched = train(graphs, next_batch, 9)
    padded, mask = to_dense_batch(batches[0].x, batches[0].batch)

    kinds = HeteroData()
    kinds["user"].x, kinds["item"].x = torch.randn(6, 3), torch.randn(5, 4)
    kinds["user", "buys", "item"].edge_index = torch.stack(
        [torch.randint(0, 6, (12,)), torch.randint(0, 5, (12,))]
    )
    kinds["item", "of", "user"].edge_index = torch.stack(
        [torch.randint(0, 5, (12,)), torch.randint(0, 6, (12,))]
    )
    layer = HeteroConv(
        {
            ("user", "buys", "item"): SAGEConv((3, 4), 7),
            ("item", "of", "user"): SAGEConv((4, 3), 7),
        }
    ).to(device)
    there = kinds.to(device)
    hetero = layer(there.x_dict, there.edge_index_dict)
    torch.manual_seed(5)
    converted = to_hetero(Plain(), kinds.cpu().metadata())
    with torch.no_grad():
        converted(kinds.x_dict, kinds.edge_index_dict)
    converted = converted.to(device)
    there = kinds.to(device)
    both = converted(there.x_dict, there.edge_index_dict)
    return {
        "nodes": nodes,
        "degrees": dense,
        "batched": batched,
        "padded": padded,
        "mask": mask.float(),
        "users": hetero["user"],
        "items": hetero["item"],
        "converted": both["item"],
    }
